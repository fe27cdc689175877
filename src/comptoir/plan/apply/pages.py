"""Query options bound to the result that `$apply` makes of a collection."""

from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from comptoir.edm.temporal import instant
from comptoir.plan.apply.binder import PipelineBinder
from comptoir.plan.apply.stages import Pipeline, PipelineCount, PipelinePlan
from comptoir.plan.expressions.grounds import Grounds
from comptoir.plan.expressions.slots import NOW
from comptoir.plan.expressions.templates import dated
from comptoir.plan.faults import FILTER, ORDERBY
from comptoir.plan.pages import Bounds, ResultPage, start_of_page
from comptoir.plan.searches import SEARCH
from comptoir.request.apply import APPLY, ComputeAlso, FilterBy, OrderBy, SearchFor, parse_apply
from comptoir.request.compute import COMPUTE, parse_compute
from comptoir.request.expression import parse_expression, parse_orderby
from comptoir.request.options import QueryOptions
from comptoir.request.search import parse_search

PIPELINES_KEPT = 200
"""The number of bound pipelines in the cache."""


def bind_result_page(
    grounds: Grounds, options: QueryOptions, bounds: Bounds, page_size: int
) -> ResultPage:
    """The page of the result that `$apply` makes of a collection.

    Raises `Refusal` for options that do not fit the set or the result.
    """
    pipeline = _bound(grounds, _texts(options))
    start = start_of_page(grounds, options, bounds, pipeline.order, page_size)
    now = ""
    if NOW in pipeline.values:
        now = start.now or instant(datetime.now(UTC))
        pipeline = _at(now, pipeline)
    company, keys, within = bounds.company, bounds.keys, bounds.within
    plan = PipelinePlan(pipeline, company, keys, within, start.seek, start.limit, start.skip)
    count = PipelineCount(pipeline, company, keys, within) if options.count else None
    return ResultPage(plan, start.size, start.given, grounds, options, within, count, now)


def bind_result_count(grounds: Grounds, options: QueryOptions, bounds: Bounds) -> PipelineCount:
    """The number of rows in the result; raises `Refusal` as `bind_result_page` does.

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
    """The options that define the result, in the order in which they are evaluated."""
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
    """The same pipeline with a time in place of `NOW`."""
    return msgspec.structs.replace(pipeline, values=dated(pipeline.values, now))
