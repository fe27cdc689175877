"""`$orderby` bound to a kind: properties, each up or down."""

from comptoir.edm.model import EntitySet
from comptoir.edm.text import Text
from comptoir.plan.faults import ORDERBY, unsupported
from comptoir.plan.filters import bind_property
from comptoir.plan.read import OrderKey, default_order
from comptoir.request.expression import ExpressionLimits, parse_orderby
from comptoir.request.expression.tree import Path


def bind_orderby(
    entity_set: EntitySet, text: str, limits: ExpressionLimits
) -> tuple[OrderKey, ...]:
    """The total order that `$orderby` asks for: its properties, then the key.

    A property that comes again sorts nothing and is left out. Raises `Refusal`: 400 with the
    place of the fault, 501 for an expression that is no property.
    """
    keys: dict[str, OrderKey] = {}
    for item in parse_orderby(text, limits, ORDERBY):
        if not isinstance(item.expression, Path):
            raise unsupported(ORDERBY, item.expression.position, "sorting by an expression")
        field = bind_property(entity_set.type, item.expression, ORDERBY)
        kind = entity_set.type.by_name[field.name].type
        if isinstance(kind, Text) and kind.max_length is None:
            raise unsupported(ORDERBY, item.expression.position, f"sorting by {field.name}")
        keys.setdefault(field.name, OrderKey(field.name, item.descending))
    return default_order(entity_set, tuple(keys.values()))
