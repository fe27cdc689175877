"""Query options bound to a collection, or to the result of `$apply`: the requested page."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Generic, Self, TypeVar

import msgspec

from comptoir.edm.model import Company
from comptoir.edm.times import instant
from comptoir.edm.types import Stored
from comptoir.plan.apply.binder import PipelineBinder
from comptoir.plan.apply.stages import Pipeline, PipelineCount, PipelinePlan
from comptoir.plan.bound import looks_elsewhere
from comptoir.plan.expressions.binding_context import BindingContext
from comptoir.plan.expressions.orders import bind_orderby
from comptoir.plan.expressions.slots import NOW
from comptoir.plan.expressions.templates import dated, filter_where
from comptoir.plan.faults import FILTER, ORDERBY
from comptoir.plan.keyset import Continuation, decode_token, encode_token
from comptoir.plan.read import (
    EVERYTHING,
    Computed,
    CountPlan,
    Order,
    OrderKey,
    OrderTerm,
    PagePlan,
    Row,
    Seek,
    Where,
    Within,
    default_order,
)
from comptoir.plan.searches import SEARCH, searched
from comptoir.request.apply import APPLY, ComputeAlso, FilterBy, OrderBy, SearchFor, parse_apply
from comptoir.request.expression import COMPUTE, parse_compute, parse_expression, parse_orderby
from comptoir.request.options import QueryOptions
from comptoir.request.search import parse_search

PIPELINES_KEPT = 200
"""The number of bound pipelines in the cache."""

PlanT = TypeVar("PlanT", PagePlan, PipelinePlan)
CountT = TypeVar("CountT", CountPlan, PipelineCount)


class Bounds(msgspec.Struct, frozen=True):
    """The records of a collection: those of a company with these keys and these values."""

    company: Company | None
    keys: tuple[Stored, ...] | None = None
    within: Within = ()


class Page(msgspec.Struct, Generic[PlanT, CountT], frozen=True):
    """A page of a collection, or of the result that `$apply` makes of one.

    `size` is the number of rows on the page. `plan` fetches one more when there may be a next page:
    this row shows whether there is one. `given` is the number of rows on earlier pages, and `now`
    the time of the first page where the query uses it.
    """

    plan: PlanT
    size: int
    given: int
    binding: BindingContext
    options: QueryOptions
    within: Within
    count: CountT | None
    now: str = ""

    @property
    def query(self) -> tuple[str, ...]:
        """The query that a token of the page belongs to."""
        return _query(self.binding, self.options, self.plan.company, self.within)

    def token_behind(self, row: Row, shown: int) -> str:
        """The skip token for the page after this one, whose last row and length these are."""
        continuation = Continuation(self.given + shown, self.plan.seek_behind(row), self.now)
        return encode_token(self.query, continuation)

    def narrowed(self, within: Within) -> Self:
        """The same page of the records with these values; only its tokens differ."""
        return msgspec.structs.replace(self, within=within)


class ListPage(Page[PagePlan, CountPlan], frozen=True):
    """A page of a collection's records."""

    @property
    def looks_elsewhere(self) -> bool:
        """Whether other records, or the time, decide which records are on the page."""
        condition = self.plan.where.condition
        return bool(self.now) or (condition is not None and looks_elsewhere(condition))

    def under(self, company: Company) -> Self:
        """The same page of a company's records."""
        plan = msgspec.structs.replace(self.plan, company=company)
        count = self.count and msgspec.structs.replace(self.count, company=company)
        return msgspec.structs.replace(self, plan=plan, count=count)


class ResultPage(Page[PipelinePlan, PipelineCount], frozen=True):
    """A page of the result of `$apply`."""


class _Start(msgspec.Struct, frozen=True):
    """Where a page starts: the rows given before, the row to seek behind, the rows to skip.

    `size` and `limit` are the number of rows on the page and to fetch; `now` is the time of the
    first page where the skip token has it.
    """

    given: int
    seek: Seek | None
    skip: int
    size: int
    limit: int
    now: str


def _start(
    binding: BindingContext, options: QueryOptions, bounds: Bounds, order: Order, page_size: int
) -> _Start:
    """The start by `$skiptoken`, `$skip`, `$top` and the size of a page.

    Raises `Refusal` (400) for a token that is damaged or of another query.
    """
    given, seek, skip, now = 0, None, options.skip or 0, ""
    if options.skiptoken is not None:
        query = _query(binding, options, bounds.company, bounds.within)
        continuation = decode_token(options.skiptoken, query, binding.entity_set.type, order)
        given, seek, now = continuation.given, continuation.seek or None, continuation.now
        skip = 0
    size, limit = page_size, page_size + 1
    if options.top is not None and options.top - given <= page_size:
        size = limit = max(options.top - given, 0)
    return _Start(given, seek, skip, size, limit, now)


def bind_page(
    binding: BindingContext, options: QueryOptions, bounds: Bounds, page_size: int
) -> ListPage:
    """The page of a collection that the options ask for.

    Raises `Refusal` for options that do not fit the set.
    """
    entity_set, computed = binding.entity_set, binding.computed
    where = _where(binding, options)
    order = default_order(entity_set)
    if options.orderby is not None:
        order = bind_orderby(binding.for_text(options.orderby), options.orderby)
    start = _start(binding, options, bounds, order, page_size)
    now = ""
    is_plain = options.orderby is None and not computed
    if NOW in where.values or (not is_plain and _names_now(order, computed)):
        now = start.now or instant(datetime.now(UTC))
        where, order, computed = _at(now, where, order, computed)
    company, keys, within = bounds.company, bounds.keys, bounds.within
    plan = PagePlan(
        entity_set,
        company,
        where,
        order,
        start.seek,
        start.limit,
        keys,
        within,
        start.skip,
        computed,
    )
    count = None
    if options.count:
        count = CountPlan(entity_set, company, where, keys, within, computed)
    return ListPage(plan, start.size, start.given, binding, options, within, count, now)


def bind_count(binding: BindingContext, options: QueryOptions, bounds: Bounds) -> CountPlan:
    """The number of a collection's records that match the options.

    Raises `Refusal` for options that do not fit the set, `$orderby` included.
    """
    where = _where(binding, options)
    if options.orderby is not None:
        bind_orderby(binding.for_text(options.orderby), options.orderby)
    where, _, computed = _at(instant(datetime.now(UTC)), where, (), binding.computed)
    return CountPlan(
        binding.entity_set, bounds.company, where, bounds.keys, bounds.within, computed
    )


def bind_result_page(
    binding: BindingContext, options: QueryOptions, bounds: Bounds, page_size: int
) -> ResultPage:
    """The page of the result that `$apply` makes of a collection.

    Raises `Refusal` for options that do not fit the set or the result.
    """
    pipeline = _bound(binding, _texts(options))
    start = _start(binding, options, bounds, pipeline.order, page_size)
    now = ""
    if NOW in pipeline.values:
        now = start.now or instant(datetime.now(UTC))
        pipeline = _pipeline_at(now, pipeline)
    company, keys, within = bounds.company, bounds.keys, bounds.within
    plan = PipelinePlan(pipeline, company, keys, within, start.seek, start.limit, start.skip)
    count = PipelineCount(pipeline, company, keys, within) if options.count else None
    return ResultPage(plan, start.size, start.given, binding, options, within, count, now)


def bind_result_count(
    binding: BindingContext, options: QueryOptions, bounds: Bounds
) -> PipelineCount:
    """The number of rows in the result; raises `Refusal` as `bind_result_page` does.

    The order is bound to be checked, and left out: its keys could fail for some rows.
    """
    texts = _texts(options)
    pipeline = _bound(binding, texts)
    if options.orderby is not None:
        pipeline = _bound(binding, (*texts[:-1], None))
    if NOW in pipeline.values:
        pipeline = _pipeline_at(instant(datetime.now(UTC)), pipeline)
    return PipelineCount(pipeline, bounds.company, bounds.keys, bounds.within)


def computed_now(computed: Computed) -> Computed:
    """Computed properties with the time of now in place of `NOW`."""
    return _at(instant(datetime.now(UTC)), EVERYTHING, (), computed)[2] if computed else ()


def _where(binding: BindingContext, options: QueryOptions) -> Where:
    where = EVERYTHING
    if options.filter is not None:
        where = filter_where(binding, options.filter)
    if options.search is not None:
        where = searched(where, options.search, binding.limits)
    return where


def _names_now(order: Order, computed: Computed) -> bool:
    return any(NOW in each.values for each in (*order, *computed) if not isinstance(each, OrderKey))


def _at(now: str, where: Where, order: Order, computed: Computed) -> tuple[Where, Order, Computed]:
    """The same with a time in place of `NOW`."""
    return (
        msgspec.structs.replace(where, values=dated(where.values, now)),
        tuple(
            [
                msgspec.structs.replace(each, values=dated(each.values, now))
                if isinstance(each, OrderTerm)
                else each
                for each in order
            ]
        ),
        tuple([msgspec.structs.replace(each, values=dated(each.values, now)) for each in computed]),
    )


def _query(
    binding: BindingContext, options: QueryOptions, company: Company | None, within: Within
) -> tuple[str, ...]:
    records = (binding.entity_set.name, company.id if company else "")
    match, order, search = options.filter or "", options.orderby or "", options.search or ""
    texts = [*records, match, order, search]
    if options.apply is not None:
        texts = [APPLY, *records, options.apply, options.compute or "", search, match, order]
    return (
        *texts,
        *[f"{name}={value}" for name, value in within],
        *[f"{each.name}={each.text}" for each in binding.computed],
        *[f"@{name}={text}" for name, text in binding.aliases],
    )


_Texts = tuple[str | None, str | None, str | None, str | None, str | None]


def _texts(options: QueryOptions) -> _Texts:
    """The options that define the result, in the order in which they are evaluated."""
    return options.apply, options.compute, options.search, options.filter, options.orderby


@lru_cache(PIPELINES_KEPT)
def _bound(binding: BindingContext, texts: _Texts) -> Pipeline:
    apply, compute, search, condition, order = texts
    limits = binding.limits
    binder = PipelineBinder(binding, APPLY)
    binder.bind(parse_apply(apply or "", limits))
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


def _pipeline_at(now: str, pipeline: Pipeline) -> Pipeline:
    """The same pipeline with a time in place of `NOW`."""
    return msgspec.structs.replace(pipeline, values=dated(pipeline.values, now))
