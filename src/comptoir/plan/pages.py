"""Query options bound to a collection: which of its records stand on the page that is asked for."""

from collections.abc import Sequence

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored
from comptoir.plan.bound import looks_elsewhere
from comptoir.plan.keyset import Continuation, decode_token, encode_token
from comptoir.plan.orders import bind_orderby
from comptoir.plan.read import EVERYTHING, CountPlan, PagePlan, Row, Where, Within, default_order
from comptoir.plan.searches import searched
from comptoir.plan.target import Company
from comptoir.plan.templates import filter_where
from comptoir.request.expression import ExpressionLimits
from comptoir.request.options import QueryOptions


class Page(msgspec.Struct, frozen=True):
    """A page of a collection.

    `plan` fetches one record more than the page holds when there may be a next page; that record
    tells whether there is. `size` is how many the page holds.
    """

    plan: PagePlan
    size: int
    given: int
    query: Sequence[str]
    count: CountPlan | None

    def token_behind(self, row: Row, shown: int) -> str:
        """The skip token for the page behind this one, which showed so many and ended in `row`."""
        continuation = Continuation(self.given + shown, self.plan.seek_behind(row))
        return encode_token(self.query, continuation)

    @property
    def looks_elsewhere(self) -> bool:
        """Whether other records than its own decide what stands on the page."""
        return self.plan.where.condition is not None and looks_elsewhere(self.plan.where.condition)

    def narrowed(self, within: Within) -> "Page":
        """The same page of the records with some values; only its tokens differ."""
        return msgspec.structs.replace(self, query=(*self.query, *_within(within)))


def bind_page(
    entity_set: EntitySet,
    company: Company | None,
    options: QueryOptions,
    *,
    keys: tuple[Stored, ...] | None,
    page_size: int,
    limits: ExpressionLimits,
    within: Within = (),
) -> Page:
    """The page that the options ask for, of the records with these keys and values, or of all.

    Raises `Refusal` for options that do not fit the set.
    """
    where = _where(entity_set, options, limits)
    order = default_order(entity_set)
    if options.orderby is not None:
        order = bind_orderby(entity_set, options.orderby, limits)
    query = (
        entity_set.name,
        company.id if company else "",
        options.filter or "",
        options.orderby or "",
        options.search or "",
        *_within(within),
    )
    continuation, skip = Continuation(0, ()), options.skip or 0
    if options.skiptoken is not None:
        continuation = decode_token(options.skiptoken, query, entity_set.type, order)
        skip = 0
    size, limit = page_size, page_size + 1
    if options.top is not None and options.top - continuation.given <= page_size:
        size = limit = max(options.top - continuation.given, 0)
    seek = continuation.seek or None
    plan = PagePlan(entity_set, company, where, order, seek, limit, keys, within, skip)
    count = CountPlan(entity_set, company, where, keys, within) if options.count else None
    return Page(plan, size, continuation.given, query, count)


def bind_count(
    entity_set: EntitySet,
    company: Company | None,
    options: QueryOptions,
    *,
    keys: tuple[Stored, ...] | None,
    limits: ExpressionLimits,
    within: Within = (),
) -> CountPlan:
    """How many of the records with these keys and values the options ask for, or of all."""
    return CountPlan(entity_set, company, _where(entity_set, options, limits), keys, within)


def _where(entity_set: EntitySet, options: QueryOptions, limits: ExpressionLimits) -> Where:
    where = EVERYTHING
    if options.filter is not None:
        where = filter_where(entity_set, options.filter, limits)
    if options.search is not None:
        where = searched(where, options.search, limits)
    return where


def _within(within: Within) -> list[str]:
    return [f"{name}={value}" for name, value in within]
