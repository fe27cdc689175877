"""Calls of the canonical functions of OData (URL Conventions 4.01, section 5.1.1.5 on)."""

from collections.abc import Callable, Mapping, Sequence

from comptoir.edm.times import INSTANT
from comptoir.plan.bound import Function, Value
from comptoir.plan.expressions import types
from comptoir.plan.expressions.arithmetic import as_decimal
from comptoir.plan.expressions.slots import NOW
from comptoir.plan.expressions.terms import Operand, Terms, name_of, spanned
from comptoir.plan.expressions.typed import Typed
from comptoir.plan.faults import unknown_name
from comptoir.plan.functions import SIGNATURES, FunctionName, Signature
from comptoir.request.expression.tree import Call, Literal
from comptoir.request.pattern import PatternFault, check_pattern

SHORT_LITERAL = 100
"""Characters of a literal that a database finds fast enough by trying each place of the text."""

MAXIMUM = "9999-12-31T23:59:59.999Z"
"""The latest instant."""

_INSTANTS = {"mindatetime": INSTANT.default, "maxdatetime": MAXIMUM, "now": NOW}
_ROUNDING: Mapping[str, FunctionName] = {"round": "round", "floor": "floor", "ceiling": "ceiling"}
_OF_TYPES = frozenset({"cast", "isof", "case"})
_UNSUPPORTED = frozenset(
    {"geo.distance", "geo.intersects", "geo.length", "hassubsequence", "hassubset", "isdefined"}
)

SUPPORTED = frozenset({*SIGNATURES, *_ROUNDING, *_OF_TYPES})
"""The functions that may be called, as OData spells them."""

CANONICAL = frozenset({name.lower() for name in SUPPORTED} | _UNSUPPORTED)
"""Every function that OData names, in lower case."""

_BY_NAME = {name.lower(): signatures for name, signatures in SIGNATURES.items()}


def check_name(terms: Terms, node: Call) -> None:
    """Raise `Refusal` for a function that is not supported (501), or that OData has not (400)."""
    if node.name in _BY_NAME or node.name in _ROUNDING:
        return
    if node.name in CANONICAL:
        raise terms.unsupported(node, f"the function {node.name}")
    raise unknown_name(
        terms.option, node.position, node.name, "function of OData", sorted(CANONICAL)
    )


def bind_call(terms: Terms, node: Call, arguments: Sequence[Operand]) -> Typed:
    """The value of a function that `check_name` lets pass; raises `Refusal` (400, 501)."""
    if node.name in _ROUNDING:
        return _rounded(terms, node, arguments)
    signatures = _BY_NAME[node.name]
    if signatures[0].parameters == (types.DURATION,):
        arguments = [spanned(each) for each in arguments]
    values = [terms.settled(each) for each in arguments]
    signature = _chosen(terms, node, signatures, arguments, values)
    nullable = any(each.nullable for each in values)
    function = signature.function
    if function is None:
        value: Value = terms.slots.add(_INSTANTS[node.name])
    else:
        if signature.utc:
            _check_utc(terms, node, arguments[0])
        checked = _VARIANTS.get(function)
        if checked is not None:
            function = checked(terms, arguments, values)
        value = Function(function, tuple([each.value for each in values]))
    return Typed(value, signature.result, nullable, signature.most, own_type=signature.own_type)


def _chosen(
    terms: Terms,
    node: Call,
    signatures: Sequence[Signature],
    arguments: Sequence[Operand],
    values: Sequence[Typed],
) -> Signature:
    """The overload that takes the arguments; null goes for any of them."""
    counts = sorted({len(each.parameters) for each in signatures})
    fitting = [each for each in signatures if len(each.parameters) == len(values)]
    if not fitting:
        raise terms.misused(
            node,
            f"{node.name} takes {' or '.join(map(str, counts))} arguments, "
            f"but {len(values)} are given.",
        )
    for number, (argument, value) in enumerate(zip(arguments, values, strict=True)):
        wanted = [each.parameters[number] for each in fitting]
        if value.type is not types.NULL and value.type not in wanted:
            expected = " or ".join(dict.fromkeys(each.expected for each in wanted))
            raise terms.misused(
                argument.node,
                f"{node.name} takes {expected} here, but {name_of(argument.node)} is "
                f"{_said(value, wanted)}.",
            )
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


def _said(value: Typed, wanted: Sequence[types.ExpressionType]) -> str:
    if value.type in types.NUMBERS and types.WHOLE in wanted:
        return "a number with decimals"
    return value.type.expected


def _rounded(terms: Terms, node: Call, arguments: Sequence[Operand]) -> Typed:
    if len(arguments) != 1:
        raise terms.misused(node, f"{node.name} takes 1 argument, but {len(arguments)} are given.")
    held = terms.settled(arguments[0])
    if held.type is types.NULL:
        return Typed(held.value, types.DECIMAL, nullable=True)
    if held.type not in types.NUMBERS:
        raise terms.misused(
            arguments[0].node,
            f"{node.name} takes a number, but {name_of(arguments[0].node)} is "
            f"{held.type.expected}.",
        )
    if held.type is types.WHOLE:
        return as_decimal(held)
    return Typed(Function(_ROUNDING[node.name], (held.value,)), types.DECIMAL, held.nullable)


def _check_utc(terms: Terms, node: Call, argument: Operand) -> None:
    """Refuse a literal with an offset, since an instant is stored without its offset."""
    literal = argument.node
    if not isinstance(literal, Literal) or literal.type != "datetimeoffset":
        return
    if not literal.text.endswith("Z"):
        raise terms.misused(
            literal, f"{node.name} is asked of UTC alone. Write the literal in UTC, with Z."
        )


def _contains(terms: Terms, arguments: Sequence[Operand], values: Sequence[Typed]) -> FunctionName:
    return "contains_literal" if _is_short(arguments[1]) else "contains"


def _indexof(terms: Terms, arguments: Sequence[Operand], values: Sequence[Typed]) -> FunctionName:
    return "indexof_literal" if _is_short(arguments[1]) else "indexof"


def _is_short(operand: Operand) -> bool:
    return isinstance(operand.node, Literal) and len(operand.node.text) <= SHORT_LITERAL


def _startswith(
    terms: Terms, arguments: Sequence[Operand], values: Sequence[Typed]
) -> FunctionName:
    return "startswith_literal" if isinstance(arguments[1].node, Literal) else "startswith"


def _endswith(terms: Terms, arguments: Sequence[Operand], values: Sequence[Typed]) -> FunctionName:
    nullable = any(each.nullable for each in values)
    simple = isinstance(arguments[1].node, Literal) and not nullable
    return "endswith_literal" if simple else "endswith"


def _substring(terms: Terms, arguments: Sequence[Operand], values: Sequence[Typed]) -> FunctionName:
    for each, argument in zip(values[2:], arguments[2:], strict=True):
        if each.literal is not None and each.literal < 0:
            raise terms.misused(argument.node, "substring takes a length that is not negative.")
    written = all(each.literal is not None and each.literal >= 0 for each in values[1:])
    return "substring_literal" if written else "substring"


def _matchespattern(
    terms: Terms, arguments: Sequence[Operand], values: Sequence[Typed]
) -> FunctionName:
    pattern = arguments[1].node
    if not isinstance(pattern, Literal):
        raise terms.unsupported(pattern, "a pattern that is no literal in matchesPattern")
    if pattern.type == "string":
        try:
            check_pattern(pattern.text)
        except PatternFault as fault:
            if fault.unsupported:
                raise terms.unsupported(
                    pattern, f"{fault.construct} in the pattern of matchesPattern"
                ) from None
            raise terms.misused(pattern, f"the pattern {fault}") from None
    return "matchespattern"


_VARIANTS: Mapping[
    FunctionName, Callable[[Terms, Sequence[Operand], Sequence[Typed]], FunctionName]
] = {
    "contains": _contains,
    "endswith": _endswith,
    "indexof": _indexof,
    "matchespattern": _matchespattern,
    "startswith": _startswith,
    "substring": _substring,
}
"""What checks the arguments of a function and chooses its variant; raises `Refusal` (400, 501)."""
