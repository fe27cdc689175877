"""The fields of the records in an answer: `$select`, `$compute` and `$expand`, bound."""

from collections.abc import Sequence

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.errors import NOT_IMPLEMENTED, Refusal
from comptoir.plan.apply.stages import Pipeline
from comptoir.plan.expand import ExpandBinder, Expansion, RelatedExpansion
from comptoir.plan.expressions.nodes import Field
from comptoir.plan.expressions.options import bind_compute
from comptoir.plan.read import Computed, ComputedProperty
from comptoir.plan.select import bind_result_select, bind_select
from comptoir.request.expand import ExpandLimits, parse_expand
from comptoir.response.collections import RowWriter
from comptoir.response.records import Derived, Nested, RecordShape, RecordWriter
from comptoir.response.results import ResultWriter
from comptoir.service.containing import Container
from comptoir.service.context import Context, Runtime, record_writer
from comptoir.service.expanding import ROWS, Expander, Expanding


class View(msgspec.Struct):
    """The writer of records, and the expander of the records within them, if there are any."""

    records: RecordWriter
    expander: Expanding | None = None


class Views:
    """Makes the views that requests ask for."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        settings = runtime.settings
        self._limits = ExpandLimits(settings.expand_items, settings.expand_depth)

    def computed(self, context: Context) -> Computed:
        """The computed properties of `$compute`; raises `Refusal` as `bind_compute` does."""
        options = context.options
        if options.compute is None:
            return ()
        binding = self._runtime.binding_context(context.entity_set, options.aliases)
        return bind_compute(binding.for_text(options.compute), options.compute)

    def of(self, context: Context, computed: Computed = ()) -> View:
        """The view of the records in the answer.

        Raises `Refusal` for `$select` and `$expand` that do not fit their entity type.
        """
        options = context.options
        entity_set, form = context.entity_set, context.records.form
        if options.select is None and options.expand is None and not computed:
            return View(context.records)
        names = None
        if options.select is not None:
            known = [each.name for each in computed]
            contained = self._runtime.model.contained(entity_set)
            names = bind_select(entity_set.type, options.select, known, contained)
        related, contents = self._expansions(context)
        shape = _shape(entity_set, names, (*related, *contents), computed)
        records = record_writer(entity_set, form, shape)
        expander: Expanding | None = None
        if related:
            expander = Expander(self._runtime, context, records, related)
        elif contents:
            expander = Container(self._runtime, context, records, contents)
        return View(records, expander)

    def of_result(self, context: Context, pipeline: Pipeline) -> tuple[RowWriter, Expanding | None]:
        """The writer of the rows that `$apply` makes, and the expander of their related records.

        Raises `Refusal` for `$select` and `$expand` that do not fit the result.
        """
        options = context.options
        if not pipeline.aggregated:
            view = self.of(context, _computed(pipeline))
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

    def _expansions(
        self, context: Context
    ) -> tuple[Sequence[RelatedExpansion], Sequence[Expansion]]:
        """The expansions of navigation properties, and those of a company's entity sets."""
        options = context.options
        if options.expand is None:
            return (), ()
        settings = self._runtime.settings
        binder = ExpandBinder(
            self._runtime.model,
            context.company,
            self._runtime.limits,
            items=settings.expand_items,
            depth=settings.expand_depth,
            page_size=settings.page_size,
        )
        items = parse_expand(options.expand, self._limits, options.aliases)
        if context.entity_set.per_company:
            return binder.related(context.entity_set, items), ()
        return (), binder.contained(context.entity_set, items, ROWS)


def _computed(pipeline: Pipeline) -> Computed:
    """The values beside the properties, which are in the rows already."""
    return tuple(
        [
            ComputedProperty(each.name, Field(each.name), each.type, each.nullable, each.name)
            for each in pipeline.columns
        ]
    )


def _shape(
    entity_set: EntitySet,
    names: frozenset[str] | None,
    expansions: Sequence[Expansion],
    computed: Computed = (),
) -> RecordShape:
    shown = None
    if names is not None:
        shown = tuple([name for name in entity_set.type.by_name if name in names])
    derived = [
        Derived(each.name, place, each.type)
        for place, each in enumerate(computed)
        if names is None or each.name in names
    ]
    return RecordShape(shown, tuple(derived), tuple([_nested(each) for each in expansions]))


def _nested(expansion: Expansion) -> Nested:
    entity_set = expansion.entity_set
    shape = _shape(entity_set, expansion.names, expansion.inner)
    if expansion.kind == "ref":
        shape = RecordShape((), address=True)
    return Nested(
        expansion.name,
        entity_set,
        expansion.collection,
        expansion.kind,
        bool(expansion.options.count),
        shape,
    )
