"""The aggregation methods (Data Aggregation 4.0, section 3.1.3): exact, without regard to null."""

from collections.abc import Collection, Mapping

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.numbers import COUNT, DECIMAL, INT64
from comptoir.edm.types import PrimitiveType, Text
from comptoir.plan.apply.stages import Aggregation
from comptoir.plan.expressions import types
from comptoir.plan.expressions.binder import Binder
from comptoir.plan.expressions.nodes import Field
from comptoir.plan.expressions.operands import TypedValue, name_of, typed_property
from comptoir.plan.expressions.options import names_one
from comptoir.plan.faults import misused, unsupported
from comptoir.plan.functions import AggregateFunction
from comptoir.request.apply import APPLY, Aggregate
from comptoir.request.expression.tree import Node, Path

_OF_NUMBERS = ("sum", "average")
_OF_ALL = ("min", "max", "countdistinct")

_FUNCTIONS: Mapping[str, Mapping[types.ExpressionType, AggregateFunction]] = {
    "sum": {types.WHOLE: "sum_whole", types.DECIMAL: "sum_decimal", types.WIDE_DECIMAL: "sum_wide"},
    "average": {
        types.WHOLE: "average_whole",
        types.DECIMAL: "average_decimal",
        types.WIDE_DECIMAL: "average_wide",
    },
    "min": {types.WIDE_DECIMAL: "min_wide"},
    "max": {types.WIDE_DECIMAL: "max_wide"},
}
"""The function of a method and the type of its operand, where the type matters."""

_OF_ANY_TYPE: Mapping[str, AggregateFunction] = {"min": "min", "max": "max"}


def methods_of(held: PrimitiveType) -> tuple[str, ...]:
    """The methods by which properties of a type are aggregated."""
    if isinstance(held, Text) and held.max_length is None:
        return ("countdistinct",)
    return (*_OF_NUMBERS, *_OF_ALL) if types.type_of(held) in types.NUMBERS else _OF_ALL


class Names(msgspec.Struct, frozen=True):
    """What aggregated expressions may name: a set's properties and those of a binder.

    `unlimited` are the names of texts of any length; once records have been `aggregated`, they
    have no relations.
    """

    entity_set: EntitySet
    binder: Binder
    unlimited: Collection[str]
    aggregated: bool

    def refuse_many(self, node: Node) -> None:
        """Raise `Refusal` (501) for a path along a relation to many records."""
        kind = self.entity_set.type
        segments = node.segments if isinstance(node, Path) and not self.aggregated else ()
        for segment in segments:
            navigation = kind.related.get(segment)
            if navigation is not None and navigation.collection:
                raise unsupported(
                    APPLY, node.position, f"the path {name_of(node)} along a relation to many"
                )
            if navigation is None:
                break


def bind_aggregate(
    names: Names, item: Aggregate, expression: Node | None, *, grouped: bool
) -> tuple[Aggregation, TypedValue]:
    """What an item of `aggregate(…)` computes, and its value in the result.

    Raises `Refusal`: 400 for a method that does not go with its values, 501 for what is not
    supported.
    """
    if expression is None:
        return Aggregation(item.alias, "count", None), _result(item.alias, COUNT, nullable=False)
    names.refuse_many(expression)
    typed = names.binder.value(expression)
    method = item.method
    if method == "countdistinct":
        counting = Aggregation(item.alias, "countdistinct", typed.value)
        return counting, _result(item.alias, COUNT, nullable=False)
    if typed.type is types.RECORD:
        raise unsupported(
            APPLY, expression.position, f"{method} of the record {name_of(expression)}"
        )
    nullable = typed.nullable or not grouped
    if method in _OF_NUMBERS:
        if typed.type not in types.NUMBERS:
            raise misused(
                APPLY,
                expression.position,
                f"{method} takes numbers, but {name_of(expression)} is {typed.type.expected}.",
            )
        whole = method == "sum" and typed.type is types.WHOLE
        result = _result(item.alias, INT64 if whole else DECIMAL, nullable=nullable)
        return Aggregation(item.alias, _FUNCTIONS[method][typed.type], typed.value), result
    if typed.type is types.TEXT and names_one(names.unlimited, expression):
        raise unsupported(APPLY, expression.position, f"{method} of {name_of(expression)}")
    function = _FUNCTIONS[method].get(typed.type, _OF_ANY_TYPE[method])
    result = _result(item.alias, typed.edm_type, nullable=nullable)
    return Aggregation(item.alias, function, typed.value), result


def _result(alias: str, held: PrimitiveType, *, nullable: bool) -> TypedValue:
    return typed_property(Field(alias), held, nullable=nullable)
