"""What of the records an answer shows: `$select` and `$expand` made ready to be written."""

from collections.abc import Sequence

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.plan.expand import ExpandBinder, Expansion, RelatedExpansion
from comptoir.plan.expressions.computes import bind_compute
from comptoir.plan.read import Computed
from comptoir.plan.select import bind_select
from comptoir.request.expand import ExpandLimits, parse_expand
from comptoir.request.options import QueryOptions
from comptoir.response.records import RecordWriter
from comptoir.response.shape import Derived, Nested, RecordShape
from comptoir.service.containing import Container
from comptoir.service.context import Context, Runtime, record_writer
from comptoir.service.expanding import ROWS, Expander, Expanding


class View(msgspec.Struct):
    """How records are written, and what gives the records within them, if there are any."""

    records: RecordWriter
    expander: Expanding | None = None


class Views:
    """Makes the view that a request asks for."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        settings = runtime.settings
        self._limits = ExpandLimits(settings.expand_items, settings.expand_depth)

    def computed(self, context: Context, options: QueryOptions) -> Computed:
        """What the request computes beside the properties; raises `Refusal` as `bind_compute`."""
        if options.compute is None:
            return ()
        grounds = self._runtime.grounds(context.entity_set, options.aliases)
        return bind_compute(grounds.of(options.compute), options.compute)

    def of(self, context: Context, options: QueryOptions, computed: Computed = ()) -> View:
        """The view of the records that a path names; raises `Refusal` for what does not fit."""
        entity_set, form = context.entity_set, context.records.form
        if options.select is None and options.expand is None and not computed:
            return View(context.records)
        names = None
        if options.select is not None:
            known = [each.name for each in computed]
            contained = self._runtime.model.contained(entity_set)
            names = bind_select(entity_set.type, options.select, known, contained)
        related, contents = self._expansions(context, options)
        shape = _shape(entity_set, names, (*related, *contents), computed)
        records = record_writer(entity_set, form, shape)
        expander: Expanding | None = None
        if related:
            expander = Expander(self._runtime, context, records, related)
        elif contents:
            expander = Container(self._runtime, context, records, contents)
        return View(records, expander)

    def _expansions(
        self, context: Context, options: QueryOptions
    ) -> tuple[Sequence[RelatedExpansion], Sequence[Expansion]]:
        """What is expanded along relations, and what of the records that companies contain."""
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
            aliases=options.aliases,
        )
        items = parse_expand(options.expand, self._limits)
        if context.entity_set.per_company:
            return binder.related(context.entity_set, items), ()
        return (), binder.contained(context.entity_set, items, ROWS)


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
