"""Query options bound to a collection: which of its records stand on the page that is asked for."""

from datetime import UTC, datetime

import msgspec

from comptoir.edm.primitive import Stored
from comptoir.edm.temporal import instant
from comptoir.plan.bound import looks_elsewhere
from comptoir.plan.expressions.grounds import Grounds
from comptoir.plan.expressions.orders import bind_orderby
from comptoir.plan.expressions.slots import NOW
from comptoir.plan.expressions.templates import dated, filter_where
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
    Where,
    Within,
    default_order,
)
from comptoir.plan.searches import searched
from comptoir.plan.target import Company
from comptoir.request.options import QueryOptions


class Page(msgspec.Struct, frozen=True):
    """A page of a collection.

    `plan` fetches one record more than the page holds when there may be a next page; that record
    tells whether there is. `size` is how many the page holds, `now` the instant of the first page
    where the query names it.
    """

    plan: PagePlan
    size: int
    given: int
    grounds: Grounds
    options: QueryOptions
    within: Within
    count: CountPlan | None
    now: str = ""

    @property
    def query(self) -> tuple[str, ...]:
        """What a token of the page belongs to."""
        return _query(self.grounds, self.plan.company, self.options, self.within)

    def token_behind(self, row: Row, shown: int) -> str:
        """The skip token for the page behind this one, which showed so many and ended in `row`."""
        continuation = Continuation(self.given + shown, self.plan.seek_behind(row), self.now)
        return encode_token(self.query, continuation)

    @property
    def looks_elsewhere(self) -> bool:
        """Whether other records than its own, or the time, decide what stands on the page."""
        condition = self.plan.where.condition
        return bool(self.now) or (condition is not None and looks_elsewhere(condition))

    def under(self, company: Company) -> "Page":
        """The same page of a company's records."""
        plan = msgspec.structs.replace(self.plan, company=company)
        count = self.count and msgspec.structs.replace(self.count, company=company)
        return msgspec.structs.replace(self, plan=plan, count=count)

    def narrowed(self, within: Within) -> "Page":
        """The same page of the records with some values; only its tokens differ."""
        return msgspec.structs.replace(self, within=within)


def bind_page(
    grounds: Grounds,
    company: Company | None,
    options: QueryOptions,
    *,
    keys: tuple[Stored, ...] | None,
    page_size: int,
    within: Within = (),
) -> Page:
    """The page that the options ask for, of the records with these keys and values, or of all.

    Raises `Refusal` for options that do not fit the set.
    """
    entity_set, computed = grounds.entity_set, grounds.computed
    where = _where(grounds, options)
    order = default_order(entity_set)
    if options.orderby is not None:
        order = bind_orderby(grounds.of(options.orderby), options.orderby)
    continuation, skip = Continuation(0, ()), options.skip or 0
    if options.skiptoken is not None:
        query = _query(grounds, company, options, within)
        continuation = decode_token(options.skiptoken, query, entity_set.type, order)
        skip = 0
    size, limit = extent(options, continuation, page_size)
    now = ""
    is_plain = options.orderby is None and not computed
    if NOW in where.values or (not is_plain and _names_now(order, computed)):
        now = continuation.now or instant(datetime.now(UTC))
        where, order, computed = _at(now, where, order, computed)
    seek = continuation.seek or None
    plan = PagePlan(entity_set, company, where, order, seek, limit, keys, within, skip, computed)
    count = None
    if options.count:
        count = CountPlan(entity_set, company, where, keys, within, computed)
    return Page(plan, size, continuation.given, grounds, options, within, count, now)


def extent(options: QueryOptions, continuation: Continuation, page_size: int) -> tuple[int, int]:
    """How many a page holds, and how many to fetch: one more where there may be a next page."""
    if options.top is not None and options.top - continuation.given <= page_size:
        left = max(options.top - continuation.given, 0)
        return left, left
    return page_size, page_size + 1


def bind_count(
    grounds: Grounds,
    company: Company | None,
    options: QueryOptions,
    *,
    keys: tuple[Stored, ...] | None,
    within: Within = (),
) -> CountPlan:
    """How many of the records with these keys and values match the options, or of all.

    Raises `Refusal` for options that do not fit the set, an order among them.
    """
    where = _where(grounds, options)
    if options.orderby is not None:
        bind_orderby(grounds.of(options.orderby), options.orderby)
    where, _, computed = _at(instant(datetime.now(UTC)), where, (), grounds.computed)
    return CountPlan(grounds.entity_set, company, where, keys, within, computed)


def computed_now(computed: Computed) -> Computed:
    """Computed properties with this instant where they name it."""
    return _at(instant(datetime.now(UTC)), EVERYTHING, (), computed)[2] if computed else ()


def _where(grounds: Grounds, options: QueryOptions) -> Where:
    where = EVERYTHING
    if options.filter is not None:
        where = filter_where(grounds, options.filter)
    if options.search is not None:
        where = searched(where, options.search, grounds.limits)
    return where


def _names_now(order: Order, computed: Computed) -> bool:
    return any(NOW in each.values for each in (*order, *computed) if not isinstance(each, OrderKey))


def _at(now: str, where: Where, order: Order, computed: Computed) -> tuple[Where, Order, Computed]:
    """The same with an instant where `NOW` stands for it."""
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
    grounds: Grounds, company: Company | None, options: QueryOptions, within: Within
) -> tuple[str, ...]:
    return (
        grounds.entity_set.name,
        company.id if company else "",
        options.filter or "",
        options.orderby or "",
        options.search or "",
        *[f"{name}={value}" for name, value in within],
        *[f"{each.name}={each.text}" for each in grounds.computed],
        *[f"@{name}={text}" for name, text in grounds.aliases],
    )
