"""`$orderby` bound to an entity type: properties and expressions, each up or down."""

from collections.abc import Collection

from comptoir.edm.types import Stored, Text
from comptoir.plan.bound import Field
from comptoir.plan.expressions import types
from comptoir.plan.expressions.binder import Binder
from comptoir.plan.expressions.binding_context import BindingContext
from comptoir.plan.expressions.computes import computed_names
from comptoir.plan.expressions.keeping import kept
from comptoir.plan.expressions.lengths import MOST_CHARACTERS, Lengths
from comptoir.plan.expressions.terms import name_of
from comptoir.plan.faults import ORDERBY, misused, unsupported
from comptoir.plan.read import NamedValue, Order, OrderKey, default_order
from comptoir.request.expression import parse_orderby, print_expression
from comptoir.request.expression.tree import Node, Path, walk

ORDERS_KEPT = 500
"""How many orders are kept: one that was asked for before is not bound again."""

MOST_KEYS = 32
"""How many keys an order has: what seeks behind a record compares each with all before it."""


@kept(ORDERS_KEPT)
def bind_orderby(binding: BindingContext, text: str) -> Order:
    """The total order that `$orderby` asks for: its keys, then the key of the set.

    A key that comes again sorts nothing and is left out. Raises `Refusal`: 400 with the place of
    the fault, 501 for an expression that is not supported.
    """
    model, entity_set = binding.model, binding.entity_set
    characters = 0.0
    names = computed_names(binding.computed)
    keys: dict[object, OrderKey] = {}
    expressions: list[NamedValue] = []
    slots: tuple[Stored, ...] = ()
    for item in parse_orderby(text, binding.limits, ORDERBY):
        node = binding.resolve_aliases(item.expression, text)
        binder = Binder(model, entity_set, ORDERBY, names, nested=binding.nested)
        typed = binder.value(node)
        if typed.type is types.RECORD:
            raise misused(
                ORDERBY,
                node.position,
                f"{name_of(node)} is a record, and records have no order. Sort by a property.",
            )
        if typed.type is types.NULL:
            continue
        value, values = typed.value, tuple(binder.slots.values)
        is_text = typed.type is types.WIDE_DECIMAL or isinstance(typed.edm_type.default, str)
        if (value, values) in keys:
            continue
        if len(keys) == MOST_KEYS:
            message = f"there are more than {MOST_KEYS} keys. Sort by fewer."
            raise misused(ORDERBY, item.position, message)
        # no property has such a name
        name = value.name if isinstance(value, Field) else f"#{len(keys)}"
        if not isinstance(value, Field):
            expressions.append(NamedValue(name, value, len(slots)))
            slots += values
        keys[value, values] = OrderKey(name, is_text, item.descending, typed.nullable)
        lengths = Lengths(model, ORDERBY, values, binding.computed)
        longest = lengths.longest(value, item.position)
        characters += longest if is_text else 0
        if characters > MOST_CHARACTERS:
            # a link to the next page carries them
            shown = print_expression(node)[:60]
            construct = f"sorting by {shown}, with texts of more than {MOST_CHARACTERS} characters,"
            raise unsupported(ORDERBY, item.position, construct)
    found = tuple(keys.values())
    if all(each.name != entity_set.type.key for each in found):
        found += default_order(entity_set).keys
    return Order(found, tuple(expressions), slots)


def names_one(names: Collection[str], expression: Node) -> bool:
    """Whether an expression is made of a property with one of these names."""
    return any(
        isinstance(node, Path) and node.segments[-1] in names for node, _ in walk(expression)
    )


def unlimited(binding: BindingContext) -> set[str]:
    """The properties that hold texts of any length, and what is computed of them.

    Nothing is sorted by them: a link to the next page could not carry them.
    """
    names = {
        each.name
        for entity_set in binding.model.sets
        for each in entity_set.type.properties
        if isinstance(each.type, Text) and each.type.max_length is None
    }
    names |= {each.name for each in binding.computed if any(name in each.text for name in names)}
    return names
