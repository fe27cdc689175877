"""The page of an `$apply` result that the query options ask for."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from comptoir.edm.primitive import Stored
from comptoir.edm.temporal import instant
from comptoir.plan.apply.binder import PipelineBinder
from comptoir.plan.apply.stages import Pipeline, PipelineCount, PipelinePlan
from comptoir.plan.expressions.grounds import Grounds
from comptoir.plan.expressions.slots import NOW
from comptoir.plan.expressions.templates import dated
from comptoir.plan.faults import FILTER, ORDERBY
from comptoir.plan.keyset import Continuation, decode_token, encode_token
from comptoir.plan.pages import extent
from comptoir.plan.read import Row, Within
from comptoir.plan.searches import SEARCH
from comptoir.plan.target import Company
from comptoir.request.apply import APPLY, ComputeAlso, FilterBy, OrderBy, SearchFor, parse_apply
from comptoir.request.compute import COMPUTE, parse_compute
from comptoir.request.expression import parse_expression, parse_orderby
from comptoir.request.options import QueryOptions
from comptoir.request.search import parse_search

PIPELINES_KEPT = 200
"""How many are kept: what was asked for before is not bound again."""


class ResultPage(msgspec.Struct, frozen=True):
    """A page of a result: as `Page`, `size` is how many it holds, and `plan` may fetch one more."""

    plan: PipelinePlan
    size: int
    given: int
    query: Sequence[str]
    count: PipelineCount | None
    now: str

    def token_behind(self, row: Row, shown: int) -> str:
        """The skip token for the page behind this one, which showed so many and ended in `row`."""
        continuation = Continuation(self.given + shown, self.plan.seek_behind(row), self.now)
        return encode_token(self.query, continuation)


class Bounds(msgspec.Struct, frozen=True):
    """Which records a result is made of: those of a company with these keys and values."""

    company: Company | None
    keys: tuple[Stored, ...] | None
    within: Within


def bind_result_page(
    grounds: Grounds, options: QueryOptions, bounds: Bounds, page_size: int
) -> ResultPage:
    """The page of what `$apply` makes of some records.

    Raises `Refusal` for options that do not fit the set or the result.
    """
    company, within = bounds.company, bounds.within
    texts = _texts(options)
    pipeline = _bound(grounds, texts)
    query = (
        APPLY,
        grounds.entity_set.name,
        company.id if company else "",
        *[text or "" for text in texts],
        *[f"{name}={value}" for name, value in within],
        *[f"@{name}={text}" for name, text in grounds.aliases],
    )
    continuation, skip = Continuation(0, ()), options.skip or 0
    if options.skiptoken is not None:
        kind = grounds.entity_set.type
        continuation = decode_token(options.skiptoken, query, kind, pipeline.order)
        skip = 0
    size, limit = extent(options, continuation, page_size)
    now = ""
    if NOW in pipeline.values:
        now = continuation.now or instant(datetime.now(UTC))
        pipeline = _at(now, pipeline)
    seek = continuation.seek or None
    plan = PipelinePlan(pipeline, company, bounds.keys, within, seek, limit, skip)
    count = PipelineCount(pipeline, company, bounds.keys, within) if options.count else None
    return ResultPage(plan, size, continuation.given, query, count, now)


def bind_result_count(grounds: Grounds, options: QueryOptions, bounds: Bounds) -> PipelineCount:
    """How many rows the result has; raises `Refusal` as `bind_result_page` does.

    The order is bound to be checked, and left out: its keys could fail for some rows.
    """
    texts = _texts(options)
    pipeline = _bound(grounds, texts)
    if options.orderby is not None:
        pipeline = _bound(grounds, (*texts[:-1], None))
    if NOW in pipeline.values:
        pipeline = _at(instant(datetime.now(UTC)), pipeline)
    return PipelineCount(pipeline, bounds.company, bounds.keys, bounds.within)


_Texts = tuple[str | None, str | None, str | None, str | None, str | None]


def _texts(options: QueryOptions) -> _Texts:
    """The options that say what the result is, in the order in which they are evaluated."""
    return options.apply, options.compute, options.search, options.filter, options.orderby


@lru_cache(PIPELINES_KEPT)
def _bound(grounds: Grounds, texts: _Texts) -> Pipeline:
    apply, compute, search, condition, order = texts
    limits = grounds.limits
    binder = PipelineBinder(grounds, APPLY)
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


def _at(now: str, pipeline: Pipeline) -> Pipeline:
    """The same with an instant where `NOW` stands for it."""
    return msgspec.structs.replace(pipeline, values=dated(pipeline.values, now))
