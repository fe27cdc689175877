"""`cast` and `isof` (OData URL Conventions 4.01, section 5.1.1.10): a cast that fails is null."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from comptoir.edm.model import NAMESPACE
from comptoir.edm.numbers import DECIMAL, INT32, INT64, MOST_DECIMAL, MOST_WHOLE
from comptoir.edm.times import DATE, DURATION, INSTANT, TIME_OF_DAY
from comptoir.edm.types import BOOLEAN, GUID, TEXT, PrimitiveType
from comptoir.plan.bound import Constant, Function, IsNull, Not, Null
from comptoir.plan.expressions import types
from comptoir.plan.expressions.arithmetic import as_decimal
from comptoir.plan.expressions.terms import Operand, Terms
from comptoir.plan.expressions.typed import Typed
from comptoir.plan.functions import FunctionName
from comptoir.request.expression.tree import Call, Literal, Node, Path

_TYPES: Mapping[str, PrimitiveType] = MappingProxyType(
    {
        each.edm_name: each
        for each in (
            TEXT,
            INT32,
            INT64,
            DECIMAL,
            BOOLEAN,
            GUID,
            DATE,
            INSTANT,
            TIME_OF_DAY,
            DURATION,
        )
    }
)
_BEYOND = re.compile(
    r"Edm\.(Binary|Byte|Double|Int16|SByte|Single|Stream|Untyped|(Primitive|Complex|Entity)Type"
    r"|Geo(graphy|metry)((Multi)?(Point|LineString|Polygon)|Collection)?)"
)
"""The types that OData has and this service has not."""

_PARSED: Mapping[PrimitiveType, FunctionName] = {
    INT32: "int32_of_text",
    INT64: "int64_of_text",
    DECIMAL: "decimal_of_text",
    BOOLEAN: "boolean_of_text",
    GUID: "guid_of_text",
    DATE: "date_of_text",
    INSTANT: "datetime_of_text",
    TIME_OF_DAY: "time_of_text",
    DURATION: "duration_of_text",
}
"""Type to the function that reads it from text, null where the text is none."""


def bind_cast(terms: Terms, node: Call, operand: Operand) -> Typed:
    """A value cast to the type that the last argument names."""
    wanted = primitive_named(terms, node.arguments[-1])
    held = terms.settled(operand)
    target = types.type_of(wanted)
    if held.type in (types.NULL, types.RECORD):
        return Typed(Null(), target, nullable=True, own_type=wanted)
    if held.type in types.NUMBERS and target in types.NUMBERS:
        return _number(held, wanted)
    if held.type is target:
        return held
    if target is types.TEXT:
        return Typed(Function(_printing(held), (held.value,)), types.TEXT, held.nullable)
    if held.type is types.TEXT:
        function = Function(_PARSED[wanted], (held.value,))
        return Typed(function, target, nullable=True, most=_most(wanted), own_type=wanted)
    return Typed(Null(), target, nullable=True, own_type=wanted)


def bind_isof(terms: Terms, node: Call, operand: Operand) -> Typed:
    """Whether a value is of the type that the last argument names; null is of none."""
    wanted = primitive_named(terms, node.arguments[-1])
    held = terms.settled(operand)
    if held.type in (types.NULL, types.RECORD) or held.edm_type.edm_name != wanted.edm_name:
        return Typed(Constant(value=False), types.BOOLEAN)
    if held.nullable:
        return Typed(Not(IsNull(held.value)), types.BOOLEAN)
    return Typed(Constant(value=True), types.BOOLEAN)


def primitive_named(terms: Terms, node: Node) -> PrimitiveType:
    """The primitive type that a path names; raises `Refusal`: 400, 501 for one not supported."""
    if isinstance(node, Call) and node.name == "collection" and len(node.arguments) == 1:
        member = primitive_named(terms, node.arguments[0])
        raise terms.unsupported(node, f"the type Collection({member.edm_name})")
    if isinstance(node, Path) and len(node.segments) == 1:
        name = node.segments[0]
        found = _TYPES.get(name)
        if found is not None:
            return found
        if _BEYOND.fullmatch(name):
            raise terms.unsupported(node, f"the type {name}")
        if name.startswith(f"{NAMESPACE}."):
            raise terms.misused(node, f"{name[:100]} is the type of records, not of a value.")
    shown = "/".join(node.segments)[:60] if isinstance(node, Path) else "this"
    if isinstance(node, Literal):
        shown = node.text[:60]
    raise terms.misused(
        node, f"{shown} names no type. Write one such as Edm.String, without quotes."
    )


def _number(held: Typed, wanted: PrimitiveType) -> Typed:
    if wanted is DECIMAL:
        if held.type is types.WHOLE:
            return as_decimal(held)
        if held.type is types.DECIMAL:
            return held
        return Typed(Function("rounded_decimal", (held.value,)), types.DECIMAL, nullable=True)
    if held.type is types.WHOLE and (wanted is INT64 or held.most <= INT32.maximum + 1):
        return Typed(held.value, types.WHOLE, held.nullable, held.most, held.literal, wanted)
    name: FunctionName = "int64_of_decimal"
    if wanted is INT32:
        name = "int32_of_whole" if held.type is types.WHOLE else "int32_of_decimal"
    value = Function(name, (held.value,))
    return Typed(value, types.WHOLE, nullable=True, most=_most(wanted), own_type=wanted)


def _most(wanted: PrimitiveType) -> int:
    if wanted is INT32:
        return INT32.maximum + 1
    return MOST_WHOLE if wanted is INT64 else MOST_DECIMAL


def _printing(held: Typed) -> FunctionName:
    if held.type in (types.DECIMAL, types.WIDE_DECIMAL):
        return "text_of_decimal"
    if held.type is types.WHOLE:
        return "text_of_whole"
    if held.type is types.BOOLEAN:
        return "text_of_boolean"
    if held.type is types.DURATION:
        return "text_of_duration"
    return "text_of_text"
