"""Query options bound to a collection, or to the result of `$apply`: the requested page.

A skip token or a delta token says where a client continues to read. It carries a checksum of the
query that it belongs to: the set, the filter and so on. A skip token has the keyset of a page's
last row. A page after a keyset neither repeats nor skips rows while others are added and removed,
which an offset would do. A delta token (OData Protocol 4.01, section 11.3) has numbers of the
company's change log and the company's incarnation, because a restored backup numbers its changes
again.
"""

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, Self, TypeVar

import msgspec

from comptoir.edm.model import Company
from comptoir.edm.times import instant
from comptoir.edm.types import TEXT, EdmError, Stored, Text
from comptoir.errors import refusal_rows as rows
from comptoir.plan.apply import PipelineBinder
from comptoir.plan.expressions.nodes import NOW, reads_other_records
from comptoir.plan.expressions.operands import BindingContext
from comptoir.plan.expressions.options import (
    FILTER,
    ORDERBY,
    SEARCH,
    bind_filter,
    bind_orderby,
    with_search,
)
from comptoir.plan.expressions.templates import with_time
from comptoir.plan.read import (
    EVERYTHING,
    Bounds,
    Computed,
    CountPlan,
    Filter,
    Keyset,
    OrderKey,
    PagePlan,
    Pipeline,
    Row,
    Within,
    list_pipeline,
)
from comptoir.request.apply import APPLY, ComputeAlso, FilterBy, OrderBy, SearchFor, parse_apply
from comptoir.request.expression.parser import (
    COMPUTE,
    parse_compute,
    parse_expression,
    parse_orderby,
)
from comptoir.request.options import QueryOptions, continued, continued_after
from comptoir.request.search import parse_search

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Integer = Annotated[int, msgspec.Meta(ge=-(2**63) + 1, le=2**63 - 1)]

T = TypeVar("T")


class SkipToken(msgspec.Struct, frozen=True):
    """The number of rows on earlier pages and the keyset after which the next page starts.

    `now` is the time of the first page, for queries that depend on it, and `found` is the number of
    rows that `$count=true` found for it.
    """

    earlier: int
    keyset: Keyset
    now: str = ""
    found: int | None = None


class Delta(msgspec.Struct, frozen=True, array_like=True):
    """Changes of a company: after the number `since`, and up to `until` unless that is None.

    `issued` is the time of the first link in the chain, in nanoseconds since the epoch.
    """

    since: _Number
    until: _Number | None
    issued: _Number

    @property
    def known(self) -> int:
        """The number of the last change that the company had when the token was issued."""
        return self.since if self.until is None else self.until


_SKIP = msgspec.json.Decoder(tuple[str, _Number, list[str | _Integer | None], str, _Number | None])
_DELTA = msgspec.json.Decoder(tuple[str, str, Delta])


def encode_skip(query: Sequence[str], token: SkipToken) -> str:
    """The text of a skip token for a query."""
    return _encode(query, *msgspec.structs.astuple(token))


def decode_skip(text: str, query: Sequence[str], order: Sequence[OrderKey]) -> SkipToken:
    """Read a skip token; raises `Refusal` (400) if it is damaged or belongs to another query."""
    content = _decode(text, _SKIP)
    if content is None:
        raise rows.SKIP_TOKEN("$skiptoken")
    checksum, earlier, keyset, now, found = content
    fits = len(keyset) == len(order) and all(
        key.nullable if value is None else isinstance(value, str) == key.text
        for value, key in zip(keyset, order, strict=True)
    )
    if not fits or checksum != _checksum(query, earlier, keyset, now, found):
        raise rows.SKIP_TOKEN("$skiptoken")
    return SkipToken(earlier, tuple(keyset), now, found)


def encode_delta(query: Sequence[str], company: Company, delta: Delta) -> str:
    """The text of a delta token for a query."""
    return _encode(query, company.incarnation, delta)


def decode_delta(text: str, query: Sequence[str], company: Company, *, oldest: int) -> Delta:
    """Read a delta token; `oldest` is the earliest time of issue.

    Raises `Refusal`: 400 if it is damaged or belongs to another query, 410 if it has expired.
    """
    content = _decode(text, _DELTA)
    if content is None:
        raise rows.DELTA_TOKEN("$deltatoken")
    checksum, incarnation, delta = content
    if checksum != _checksum(query, incarnation, delta):
        raise rows.DELTA_TOKEN("$deltatoken")
    if incarnation != company.incarnation or delta.issued < oldest:
        raise rows.DELTA_EXPIRED("$deltatoken")
    return delta


def _encode(query: Sequence[str], *content: object) -> str:
    token = msgspec.json.encode((_checksum(query, *content), *content))
    return base64.urlsafe_b64encode(token).rstrip(b"=").decode()


def _decode(text: str, decoder: msgspec.json.Decoder[T]) -> T | None:
    try:
        return decoder.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        return None


def _checksum(query: Sequence[str], *content: object) -> str:
    return blake2b(msgspec.json.encode((query, *content)), digest_size=9).hexdigest()


CACHED_PIPELINES = 200

_Bound = tuple[Pipeline, tuple[Stored, ...]]
"""A pipeline and the values for its slots; `NOW` among them is the time of the request."""


class Page(msgspec.Struct, frozen=True):
    """A page of a collection or of a result of `$apply`.

    `size` is the number of rows on the page. `plan` fetches one more if there may be a next page:
    that row shows whether there is one. `earlier` is the number of rows on earlier pages, and `now`
    the time of the first page if the query depends on it. `by_record`: links name the last record
    of their page, not its sort values. `found` is the number that an earlier page has counted.
    """

    plan: PagePlan
    size: int
    earlier: int
    binding: BindingContext
    options: QueryOptions
    count: CountPlan | None
    now: str = ""
    by_record: bool = False
    found: int | None = None

    @property
    def query(self) -> tuple[str, ...]:
        """The query that a token of the page belongs to."""
        return _query(self.binding, self.options, self.plan.bounds)

    @property
    def reads_other_records(self) -> bool:
        """Whether other records, or the time, decide which records are on the page."""
        return bool(self.now) or any(
            isinstance(each, Filter) and reads_other_records(each.condition)
            for each in self.plan.pipeline.transformations
        )

    def query_after(
        self,
        query: str,
        row: Row,
        rows: int,
        *tokens: tuple[str, str],
        within: Within | None = None,
    ) -> str:
        """The query string of the page after this one, which has `rows` rows, `row` last.

        `query` is that of this page. `within` limits the next one to the records with these values.
        It has further `tokens`.

        A page `by_record` names the row by its key, and by a digest of its sort values unless the
        key alone sorts the records. Without it, a page after a record that has moved would skip
        records or repeat them.
        """
        keyset, bounds = self.plan.keyset_after(row), self.plan.bounds
        if self.by_record:
            key, digest = self._key(keyset), self._digest(keyset)
            token = f"{key},{digest}" if digest else f"{key}"
            return continued_after(query, rows, ("$skiptoken", token), *tokens)
        if within is not None:
            bounds = msgspec.structs.replace(bounds, within=within)
        skip = SkipToken(self.earlier + rows, keyset, self.now, self.found)
        text = encode_skip(_query(self.binding, self.options, bounds), skip)
        return continued(query, ("$skiptoken", text), *tokens)

    def lookup(self) -> PagePlan:
        """The plan that reads the record that the skip token of a page `by_record` names.

        It may have left the page's records since. Raises `Refusal` (400) for a damaged token.
        """
        plan, (key, _) = self.plan, self._given()
        pipeline, bounds = plan.pipeline, plan.bounds
        if bounds.keys is not None and key not in bounds.keys:
            raise rows.SKIP_TOKEN("$skiptoken")
        kept = [each for each in pipeline.transformations if not isinstance(each, Filter)]
        everything = msgspec.structs.replace(pipeline, transformations=tuple(kept), searches=False)
        return PagePlan(everything, Bounds(bounds.company, keys=(key,)), 1, plan.values)

    def after(self, lookup: PagePlan, found: Sequence[Row]) -> Self:
        """The page after the record that a lookup has read.

        Raises `Refusal` (400) if there is none, or if its sort values are others than before.
        """
        keyset = lookup.keyset_after(found[0]) if found else ()
        if not found or (self._key(keyset), self._digest(keyset)) != self._given():
            raise rows.SKIP_TOKEN("$skiptoken")
        plan = msgspec.structs.replace(self.plan, keyset=keyset, skip=0)
        return msgspec.structs.replace(self, plan=plan)

    def _given(self) -> tuple[Stored, str]:
        """The key and the digest in a token; raises `Refusal` (400) if that is damaged."""
        pipeline, text = self.plan.pipeline, self.options.skiptoken or ""
        has_digest = len(pipeline.order) > 1
        key, comma, digest = text.rpartition(",") if has_digest else (text, "", "")
        declared = pipeline.entity_set.type.key_property.type
        # a stored code may have another form than the type gives to those that clients send
        stored_type = TEXT if isinstance(declared, Text) else declared
        try:
            if bool(comma) is has_digest:
                return stored_type.from_text(key), digest
        except EdmError:
            pass
        raise rows.SKIP_TOKEN("$skiptoken")

    def _key(self, keyset: Keyset) -> Stored | None:
        pipeline = self.plan.pipeline
        names = [each.name for each in pipeline.order]
        return keyset[names.index(pipeline.entity_set.type.key)]

    def _digest(self, keyset: Keyset) -> str:
        return "" if len(self.plan.pipeline.order) == 1 else _checksum((), *keyset)

    def read_as(self, *, json: bool = False, names: tuple[str, ...] | None = None) -> Self:
        """The same page with rows of JSON, or of some properties."""
        return msgspec.structs.replace(self, plan=self.plan.read_as(json=json, names=names))

    def of_company(self, company: Company) -> Self:
        """The same page of a company's records."""
        bounds = msgspec.structs.replace(self.plan.bounds, company=company)
        plan = msgspec.structs.replace(self.plan, bounds=bounds)
        count = self.count and msgspec.structs.replace(self.count, bounds=bounds)
        return msgspec.structs.replace(self, plan=plan, count=count)


def bind_page(
    binding: BindingContext,
    options: QueryOptions,
    bounds: Bounds,
    page_size: int,
    *,
    by_record: bool,
) -> Page:
    """The page that the options ask for; if that is `by_record`, `Page.after` is to follow.

    Raises `Refusal` for options that do not fit the set or the result of `$apply`, and 400 for a
    skip token that is damaged or belongs to another query.
    """
    pipeline, values = _bind(binding, options)
    earlier, skip, now, found = 0, options.skip or 0, "", None
    keyset: Keyset | None = None
    if options.skiptoken is not None and not by_record:
        query = _query(binding, options, bounds)
        token = decode_skip(options.skiptoken, query, pipeline.order)
        earlier, skip, now, found = token.earlier, 0, token.now, token.found
        keyset = token.keyset or None
    size, limit = page_size, page_size + 1
    if options.top is not None and options.top - earlier <= page_size:
        size = limit = max(options.top - earlier, 0)
    if NOW in values:
        now = now or instant(datetime.now(UTC))
        values = with_time(values, now)
    else:
        now = ""
    plan = PagePlan(pipeline, bounds, limit, values, keyset, skip)
    count = CountPlan(pipeline, bounds, values) if options.count else None
    return Page(plan, size, earlier, binding, options, count, now, by_record, found)


def bind_count(binding: BindingContext, options: QueryOptions, bounds: Bounds) -> CountPlan:
    """The number of rows that match the options; raises `Refusal` as `bind_page` does."""
    pipeline, values = _bind(binding, options)
    return CountPlan(pipeline, bounds, _at_present(values))


def computed_now(computed: Computed) -> Computed:
    """Computed properties with the present time for `NOW`."""
    return tuple(
        [msgspec.structs.replace(each, values=_at_present(each.values)) for each in computed]
    )


def _at_present(values: tuple[Stored, ...]) -> tuple[Stored, ...]:
    return with_time(values, instant(datetime.now(UTC))) if NOW in values else values


def _bind(binding: BindingContext, options: QueryOptions) -> _Bound:
    if options.apply is not None:
        texts = options.apply, options.compute, options.search, options.filter, options.orderby
        return _bind_apply(binding, texts)
    where = EVERYTHING
    if options.filter is not None:
        where = bind_filter(binding, options.filter)
    if options.search is not None:
        where = with_search(where, options.search, binding.limits)
    order = None
    if options.orderby is not None:
        order = bind_orderby(binding, options.orderby)
    return list_pipeline(binding.entity_set, binding.computed, where, order)


@lru_cache(CACHED_PIPELINES)
def _bind_apply(
    binding: BindingContext, texts: tuple[str, str | None, str | None, str | None, str | None]
) -> _Bound:
    """Bind `$apply` and the options of its result, in the order in which these are evaluated."""
    apply, compute, search, condition, order = texts
    limits = binding.limits
    binder = PipelineBinder(binding, APPLY)
    binder.bind(parse_apply(apply, limits))
    if compute is not None:
        binder.option = COMPUTE
        binder.bind([ComputeAlso(parse_compute(compute, limits))])
    if search is not None:
        binder.option = SEARCH
        binder.bind([SearchFor(parse_search(search, limits))])
    if condition is not None:
        binder.option = FILTER
        binder.bind([FilterBy(parse_expression(condition, limits, FILTER))])
    if order is not None:
        binder.option = ORDERBY
        binder.bind([OrderBy(parse_orderby(order, limits, ORDERBY))])
    return binder.pipeline()


def _query(binding: BindingContext, options: QueryOptions, bounds: Bounds) -> tuple[str, ...]:
    records = binding.entity_set.name, bounds.company_id
    condition, order, search = options.filter or "", options.orderby or "", options.search or ""
    texts = [*records, condition, order, search]
    if options.compute is not None:
        texts = [COMPUTE, *texts, options.compute]
    if options.apply is not None:
        texts = [APPLY, *records, options.apply, options.compute or "", search, condition, order]
    return (
        *texts,
        *[f"{name}={value}" for name, value in bounds.within],
        *[f"@{name}={text}" for name, text in binding.aliases],
    )
