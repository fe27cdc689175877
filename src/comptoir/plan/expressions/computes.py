"""`$compute` bound to an entity type: values beside the properties of a record."""

from collections.abc import Mapping
from types import MappingProxyType

from comptoir.plan.bound import Field
from comptoir.plan.expressions import types
from comptoir.plan.expressions.arithmetic import narrowed
from comptoir.plan.expressions.binder import Binder
from comptoir.plan.expressions.binding_context import BindingContext
from comptoir.plan.expressions.keeping import kept
from comptoir.plan.expressions.lengths import MOST_CHARACTERS, Lengths, too_long
from comptoir.plan.expressions.typed import Typed, typed_property
from comptoir.plan.faults import misused, unsupported
from comptoir.plan.read import Computed, ComputedProperty
from comptoir.request.expression import COMPUTE, parse_compute, print_expression

COMPUTES_KEPT = 500
"""How many are kept: what was asked for before is not bound again."""

MOST_TOGETHER = 4 * MOST_CHARACTERS
"""How long all that is computed for a record may be."""


@kept(COMPUTES_KEPT)
def bind_compute(binding: BindingContext, text: str) -> Computed:
    """What the items of `$compute` mean for a set's records.

    Raises `Refusal`: 400 with the place of the fault, a name that a property has included, 501
    for what is not supported.
    """
    kind, contained = binding.entity_set.type, binding.model.contained(binding.entity_set)
    taken = {*kind.by_name, *kind.related, *contained}
    computed: list[ComputedProperty] = []
    together = 0.0
    for item in parse_compute(text, binding.limits, COMPUTE):
        if item.alias in taken:
            raise misused(
                COMPUTE,
                item.position,
                f"{item.alias} is a property of {kind.name} already. Choose another name.",
            )
        node = binding.resolve_aliases(item.expression, text)
        binder = Binder(binding.model, binding.entity_set, COMPUTE)
        typed = narrowed(binder.value(node))
        if typed.type is types.RECORD:
            raise unsupported(COMPUTE, node.position, "a record as a computed value")
        lengths = Lengths(binding.model, COMPUTE, binder.slots.values)
        longest = lengths.longest(typed.value, item.position)
        together += longest
        if longest > MOST_CHARACTERS or together > MOST_TOGETHER:
            raise too_long(COMPUTE, item.position)
        computed.append(
            ComputedProperty(
                item.alias,
                typed.value,
                typed.edm_type,
                typed.nullable,
                print_expression(node),
                tuple(binder.slots.values),
            )
        )
    return tuple(computed)


def computed_names(computed: Computed) -> Mapping[str, Typed]:
    """Computed properties as names that other options may use."""
    return MappingProxyType(
        {
            each.name: typed_property(Field(each.name), each.type, nullable=each.nullable)
            for each in computed
        }
    )
