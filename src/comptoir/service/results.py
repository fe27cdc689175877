"""The results of `$apply` on a collection (OData Extension for Data Aggregation 4.0)."""

from collections.abc import Sequence

from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, Refusal
from comptoir.plan.apply.pages import Bounds, bind_result_count, bind_result_page
from comptoir.plan.apply.stages import Pipeline
from comptoir.plan.bound import Field
from comptoir.plan.read import Computed, ComputedProperty, Row
from comptoir.plan.select import bind_result_select
from comptoir.request.preferences import Preferences
from comptoir.response.answer import Answer
from comptoir.response.collections import CollectionWriter, RowWriter
from comptoir.response.results import ResultWriter
from comptoir.service.context import Context, Runtime
from comptoir.service.expanding import Expanding
from comptoir.service.streaming import Following, Streamed, gathered
from comptoir.service.views import Views


class Results:
    """Answers with the results of `$apply`: records, or what they were aggregated to."""

    def __init__(self, runtime: Runtime, views: Views) -> None:
        self._runtime = runtime
        self._views = views

    async def page(self, context: Context, bounds: Bounds, wished: Preferences) -> Answer:
        """A page of the result."""
        options = context.options
        if options.deltatoken is not None:
            raise Refusal(
                INVALID_URL,
                "$deltatoken does not apply to the result of $apply. Leave it out.",
                target="$deltatoken",
            )
        settings, reads = self._runtime.settings, context.reads
        page_size = min(wished.max_page_size or settings.page_size, settings.max_page_size)
        grounds = self._runtime.grounds(context.entity_set, options.aliases)
        page = bind_result_page(grounds, options, bounds, page_size)
        records, expander = self._view(context, page.plan.pipeline)
        patience, count = context.request.patience, None
        if page.count is not None:
            count = await reads.result_count(page.count, patience)
        slices = reads.results(page.plan, patience)
        blocks = slices if expander is None else gathered(slices, expander.block)
        first: Sequence[Row] = await anext(blocks, [])
        headers = context.headers()
        applied = wished.applied(page_size=page_size)
        if applied:
            headers.append((b"preference-applied", applied))
        writer = CollectionWriter(records, self._runtime.base_url, context.company)
        address = f"{self._runtime.base_url}{context.request.path}"
        following = Following(address, context.request.query, page)
        streamed = Streamed(writer, expander, following)
        return await streamed.answer(headers, writer.head(count), first, blocks)

    async def count(self, context: Context, bounds: Bounds) -> int:
        """How many rows the result has, with every option checked."""
        grounds = self._runtime.grounds(context.entity_set, context.options.aliases)
        plan = bind_result_count(grounds, context.options, bounds)
        self._view(context, plan.pipeline)
        return await context.reads.result_count(plan, context.request.patience)

    def _view(self, context: Context, pipeline: Pipeline) -> tuple[RowWriter, Expanding | None]:
        """The writer of a result's rows, and the expander of their related records."""
        options = context.options
        if not pipeline.aggregated:
            view = self._views.of(context, _computed(pipeline))
            return view.records, view.expander
        if options.expand is not None:
            raise Refusal(
                NOT_IMPLEMENTED,
                "$expand is not supported on an aggregated result. Group by the properties of the "
                "related record instead, as in groupby((company/number)).",
                target="$expand",
            )
        names = None
        if options.select is not None:
            names = bind_result_select(pipeline.columns, options.select)
        form = context.records.form
        return ResultWriter(context.entity_set, form, pipeline.columns, names), None


def _computed(pipeline: Pipeline) -> Computed:
    return tuple(
        [
            ComputedProperty(each.name, Field(each.name), each.type, each.nullable, each.name)
            for each in pipeline.columns
        ]
    )
