"""Function calls: the canonical functions of OData, and `cast` and `isof`.

OData URL Conventions 4.01, from section 5.1.1.5; a cast of an unsuitable value is null
(section 5.1.1.10).
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from comptoir.edm.numbers import DECIMAL, INT32, INT64, MOST_DECIMAL, MOST_WHOLE
from comptoir.edm.times import DATE, DURATION, INSTANT, TIME_OF_DAY
from comptoir.edm.types import BOOLEAN, GUID, TEXT, CodeText, PrimitiveType
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions import nodes, types
from comptoir.plan.expressions.operands import (
    BoundOption,
    Operand,
    TypedValue,
    boolean,
    called,
    constant,
    described,
    duration_operand,
    name_of,
)
from comptoir.plan.expressions.operators import as_decimal
from comptoir.plan.expressions.types import NAMED, SIGNATURES, FunctionName, Signature
from comptoir.request.expression import tree
from comptoir.request.pattern import PatternError, common_pattern

SHORT_LITERAL = 100
"""Characters of a literal that a database finds fast enough with a search at each position."""

MAXIMUM = "9999-12-31T23:59:59.999Z"
"""The latest instant."""

_INSTANTS = {"mindatetime": INSTANT.default, "maxdatetime": MAXIMUM, "now": nodes.NOW}
_ROUNDING = frozenset({"round", "floor", "ceiling"})
_SEARCHES: frozenset[FunctionName] = frozenset({"contains", "startswith", "endswith"})
_WITH_TYPES = frozenset({"cast", "isof", "case"})
_UNSUPPORTED = frozenset(
    {"geo.distance", "geo.intersects", "geo.length", "hassubsequence", "hassubset", "isdefined"}
)

SUPPORTED = frozenset({*SIGNATURES, *_ROUNDING, *_WITH_TYPES})
"""The supported functions, as OData spells them."""

CANONICAL = frozenset({name.lower() for name in SUPPORTED} | _UNSUPPORTED)
"""Every function of OData, in lower case."""

_BY_NAME = {name.lower(): signatures for name, signatures in SIGNATURES.items()}

_TYPES = (TEXT, INT32, INT64, DECIMAL, BOOLEAN, GUID, DATE, INSTANT, TIME_OF_DAY, DURATION)
_PRIMITIVE_TYPES: Mapping[str, PrimitiveType] = {each.edm_name: each for each in _TYPES}
_UNSUPPORTED_TYPES = re.compile(
    r"Edm\.(Binary|Byte|Double|Int16|SByte|Single|Stream|Untyped|(Primitive|Complex|Entity)Type"
    r"|Geo(graphy|metry)((Multi)?(Point|LineString|Polygon)|Collection)?)"
)
"""The types of OData that the service does not support."""

_PARSE_FUNCTIONS: Mapping[PrimitiveType, FunctionName] = {
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
"""Types to the functions that parse them from text, with null for another text."""

_TEXT_FUNCTIONS: Mapping[types.ExpressionType, FunctionName] = {
    types.DECIMAL: "text_of_decimal",
    types.WIDE_DECIMAL: "text_of_decimal",
    types.WHOLE: "text_of_whole",
    types.BOOLEAN: "text_of_boolean",
    types.DURATION: "text_of_duration",
}
"""Types to the functions that write them as text; values of other types are stored as text."""


def check_name(option: BoundOption, node: tree.Call) -> None:
    """Raise `Refusal` for a function that is not supported (501) or not of OData (400)."""
    if node.name in _BY_NAME or node.name in _ROUNDING:
        return
    if node.name in CANONICAL:
        raise option.unsupported(node, f"The function {node.name}")
    raise option.refuse(rows.NO_FUNCTION, node, known=sorted(CANONICAL), name=node.name)


def bind_call(option: BoundOption, node: tree.Call, arguments: Sequence[Operand]) -> TypedValue:
    """Bind a call of a function that `check_name` accepts; raises `Refusal` (400, 501)."""
    if node.name in _ROUNDING:
        return _rounded(option, node, arguments)
    signatures = _BY_NAME[node.name]
    if signatures[0].parameters == (types.DURATION,):
        arguments = [duration_operand(each) for each in arguments]
    values = [option.value(each) for each in arguments]
    signature = _overload(option, node, signatures, arguments, values)
    function = signature.function
    if function is None:
        return TypedValue(option.slots.add(_INSTANTS[node.name]), signature.result)
    if signature.utc:
        _check_utc(option, node, arguments[0])
    if function in _SEARCHES and isinstance(values[0].own_type, CodeText):
        # codes are stored in upper case
        values[1] = called("toupper", types.TEXT, values[1])
    if function == "matchespattern":
        values[1] = _common_pattern(option, arguments[1], values[1])
    function = _variant(option, function, arguments, values)
    if function == "substring_literal" and len(values) == 2:
        values.append(TypedValue(option.slots.add(types.LONGEST_TEXT), types.WHOLE))
    return called(
        function, signature.result, *values, most=signature.most, own_type=signature.own_type
    )


def _overload(
    option: BoundOption,
    node: tree.Call,
    signatures: Sequence[Signature],
    arguments: Sequence[Operand],
    values: Sequence[TypedValue],
) -> Signature:
    """The overload that accepts the arguments; null is of any type."""
    counts = sorted({len(each.parameters) for each in signatures})
    fitting = [each for each in signatures if len(each.parameters) == len(values)]
    if not fitting:
        raise _wrong_count(option, node, counts)
    for number, (argument, value) in enumerate(zip(arguments, values, strict=True)):
        wanted = [each.parameters[number] for each in fitting]
        if value.type is not types.NULL and value.type not in wanted:
            raise _wrong_type(option, node, argument.node, value, wanted)
    return next(
        (
            each
            for each in fitting
            if all(
                value.type in (types.NULL, parameter)
                for value, parameter in zip(values, each.parameters, strict=True)
            )
        ),
        fitting[0],
    )


def _wrong_count(option: BoundOption, node: tree.Call, counts: Sequence[int]) -> Refusal:
    count = len(node.arguments)
    is_short = count < counts[0]
    return option.refuse(
        rows.TOO_FEW_ARGUMENTS if is_short else rows.TOO_MANY_ARGUMENTS,
        node,
        function=node.name,
        arguments=f"{count} {'argument' if count == 1 else 'arguments'}",
        counts=" or ".join(map(str, counts)),
    )


def _wrong_type(
    option: BoundOption,
    node: tree.Call,
    argument: tree.Node,
    value: TypedValue,
    wanted: Sequence[types.ExpressionType],
) -> Refusal:
    actual = value.type.expected
    if value.type in types.NUMBERS and types.WHOLE in wanted:
        actual = "a number with a fraction"
    expected = " or ".join(dict.fromkeys(each.expected for each in wanted))
    return option.refuse(
        rows.ARGUMENT_TYPE,
        argument,
        node=described(argument),
        type=actual,
        function=node.name,
        wanted=expected,
    )


def _rounded(option: BoundOption, node: tree.Call, arguments: Sequence[Operand]) -> TypedValue:
    if len(arguments) != 1:
        raise _wrong_count(option, node, [1])
    value = option.value(arguments[0])
    if value.type is types.NULL:
        return TypedValue(value.value, types.DECIMAL, nullable=True)
    if value.type not in types.NUMBERS:
        raise _wrong_type(option, node, arguments[0].node, value, [types.DECIMAL])
    if value.type is types.WHOLE:
        return as_decimal(value)
    return called(NAMED[node.name], types.DECIMAL, value)


def _check_utc(option: BoundOption, node: tree.Call, argument: Operand) -> None:
    """Refuse a literal with an offset, since an instant is stored without one."""
    literal = argument.node
    if not isinstance(literal, tree.Literal) or literal.type != "datetimeoffset":
        return
    if not literal.text.endswith("Z"):
        raise option.refuse(rows.OFFSET, literal, function=node.name, node=name_of(literal))


def _variant(
    option: BoundOption,
    function: FunctionName,
    arguments: Sequence[Operand],
    values: Sequence[TypedValue],
) -> FunctionName:
    """Choose the variant of a function for its arguments; raises `Refusal` (400, 501)."""
    match function:
        case "contains" if _is_short(arguments[1]):
            return "contains_literal"
        case "indexof" if _is_short(arguments[1]):
            return "indexof_literal"
        case "startswith" if isinstance(arguments[1].node, tree.Literal):
            return "startswith_literal"
        case "endswith" if isinstance(arguments[1].node, tree.Literal):
            return "endswith" if any(each.nullable for each in values) else "endswith_literal"
        case "substring":
            bounds = [each.literal for each in values[1:]]
            if len(bounds) == 2 and bounds[1] is not None and bounds[1] < 0:
                raise option.refuse(rows.NEGATIVE_LENGTH, arguments[2].node)
            if all(each is not None and each >= 0 for each in bounds):
                return "substring_literal"
    return function


def _is_short(operand: Operand) -> bool:
    return isinstance(operand.node, tree.Literal) and len(operand.node.text) <= SHORT_LITERAL


def _common_pattern(option: BoundOption, operand: Operand, value: TypedValue) -> TypedValue:
    """The pattern as every database reads it; raises `Refusal` (400, 501)."""
    pattern = operand.node
    if not isinstance(pattern, tree.Literal):
        raise option.unsupported(pattern, "A pattern other than a literal in matchesPattern")
    if pattern.type != "string":
        return value
    try:
        text = common_pattern(pattern.text)
    except PatternError as error:
        # after the opening quote; a quote within the literal is doubled
        quotes = 1 + pattern.text.count("'", 0, error.position)
        position = pattern.position + quotes + error.position
        row, construct = rows.PATTERN, error.construct
        if error.unsupported:
            row = rows.NOT_SUPPORTED
            construct = f"In the pattern of matchesPattern, {error.construct}"
        raise row(option.name, position, construct=construct) from None
    return msgspec.structs.replace(value, value=option.slots.add(text))


def bind_cast(option: BoundOption, node: tree.Call, operand: Operand) -> TypedValue:
    """Bind a cast to the type that the last argument names; raises `Refusal` (400, 501)."""
    wanted = _primitive_type(option, node.arguments[-1])
    value = option.value(operand)
    target = types.type_of(wanted)
    if value.type in (types.NULL, types.RECORD):
        return TypedValue(nodes.Null(), target, nullable=True, own_type=wanted)
    if value.type in types.NUMBERS and target in types.NUMBERS:
        return _cast_number(value, wanted)
    if value.type is target:
        return value
    if target is types.TEXT:
        return called(_TEXT_FUNCTIONS.get(value.type, "text_of_text"), types.TEXT, value)
    if value.type is types.TEXT:
        function = _PARSE_FUNCTIONS[wanted]
        return called(function, target, value, nullable=True, most=_most(wanted), own_type=wanted)
    return TypedValue(nodes.Null(), target, nullable=True, own_type=wanted)


def bind_isof(option: BoundOption, node: tree.Call, operand: Operand) -> TypedValue:
    """Bind `isof`; null is of no type. Raises `Refusal` (400, 501)."""
    wanted = _primitive_type(option, node.arguments[-1])
    value = option.value(operand)
    if value.type in (types.NULL, types.RECORD) or value.edm_type.edm_name != wanted.edm_name:
        return constant(value=False)
    return boolean(nodes.Not(nodes.IsNull(value.value))) if value.nullable else constant(value=True)


def _primitive_type(option: BoundOption, node: tree.Node) -> PrimitiveType:
    """The primitive type that a path names; raises `Refusal` (400, 501)."""
    if isinstance(node, tree.Call) and node.name == "collection" and len(node.arguments) == 1:
        member = _primitive_type(option, node.arguments[0])
        raise option.unsupported(node, f"The type Collection({member.edm_name})")
    if isinstance(node, tree.Path) and len(node.segments) == 1:
        name = node.segments[0]
        found = _PRIMITIVE_TYPES.get(name)
        if found is not None:
            return found
        if _UNSUPPORTED_TYPES.fullmatch(name):
            raise option.unsupported(node, f"The type {name}")
        if name.startswith(f"{option.namespace}."):
            raise option.refuse(rows.NOT_PRIMITIVE, node, name=name)
    raise option.refuse(rows.NOT_A_TYPE, node, node=described(node))


def _cast_number(value: TypedValue, wanted: PrimitiveType) -> TypedValue:
    if wanted is DECIMAL:
        if value.type is types.WIDE_DECIMAL:
            return called("rounded_decimal", types.DECIMAL, value, nullable=True)
        return as_decimal(value)
    if value.type is types.WHOLE and (wanted is INT64 or value.most <= INT32.maximum + 1):
        return msgspec.structs.replace(value, own_type=wanted)
    name: FunctionName = "int64_of_decimal"
    if wanted is INT32:
        name = "int32_of_whole" if value.type is types.WHOLE else "int32_of_decimal"
    return called(name, types.WHOLE, value, nullable=True, most=_most(wanted), own_type=wanted)


def _most(wanted: PrimitiveType) -> int:
    if wanted is INT32:
        return INT32.maximum + 1
    return MOST_WHOLE if wanted is INT64 else MOST_DECIMAL
