"""The canonical functions of OData (URL Conventions 4.01, section 5.1.1.5 on) and their types."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from comptoir.edm.number import INT32
from comptoir.edm.primitive import PrimitiveType
from comptoir.edm.temporal import INSTANT
from comptoir.plan.bound import Function, Value
from comptoir.plan.expressions.arithmetic import as_decimal
from comptoir.plan.expressions.kinds import (
    DAYS,
    EXACT,
    MOMENTS,
    NOTHING,
    NUMBERS,
    SPANS,
    TIMES,
    TRUTH,
    WHOLE,
    WORDS,
    Kind,
    Typed,
)
from comptoir.plan.expressions.slots import NOW
from comptoir.plan.expressions.terms import Operand, Terms, name_of, spanned
from comptoir.plan.faults import unknown_name
from comptoir.request.expression.tree import Call, Literal
from comptoir.request.pattern import PatternFault, check_pattern

SHORT = 100
"""Characters of a literal that a database looks for by trying each place of the text."""

MAXIMUM = "9999-12-31T23:59:59.999Z"
"""The latest instant."""


class Signature(msgspec.Struct, frozen=True):
    """The kinds that a function takes and gives, and how large a whole result may be."""

    parameters: tuple[Kind, ...]
    result: Kind
    most: int = 2**31
    own_type: PrimitiveType | None = None


_DATED = ("year", "month", "day")
_TIMED = ("hour", "minute", "second")


def _signatures() -> dict[str, tuple[Signature, ...]]:
    whole = INT32
    held = {
        "contains": (Signature((WORDS, WORDS), TRUTH),),
        "startswith": (Signature((WORDS, WORDS), TRUTH),),
        "endswith": (Signature((WORDS, WORDS), TRUTH),),
        "matchespattern": (Signature((WORDS, WORDS), TRUTH),),
        "tolower": (Signature((WORDS,), WORDS),),
        "toupper": (Signature((WORDS,), WORDS),),
        "trim": (Signature((WORDS,), WORDS),),
        "concat": (Signature((WORDS, WORDS), WORDS),),
        "length": (Signature((WORDS,), WHOLE, own_type=whole),),
        "indexof": (Signature((WORDS, WORDS), WHOLE, own_type=whole),),
        "substring": (
            Signature((WORDS, WHOLE), WORDS),
            Signature((WORDS, WHOLE, WHOLE), WORDS),
        ),
        "date": (Signature((MOMENTS,), DAYS),),
        "time": (Signature((MOMENTS,), TIMES),),
        "totaloffsetminutes": (Signature((MOMENTS,), WHOLE, own_type=whole),),
        "totalseconds": (Signature((SPANS,), EXACT),),
        "fractionalseconds": (Signature((MOMENTS,), EXACT), Signature((TIMES,), EXACT)),
        "mindatetime": (Signature((), MOMENTS),),
        "maxdatetime": (Signature((), MOMENTS),),
        "now": (Signature((), MOMENTS),),
    }
    for name in _DATED:
        held[name] = tuple(
            Signature((kind,), WHOLE, 9_999, own_type=whole) for kind in (DAYS, MOMENTS)
        )
    for name in _TIMED:
        held[name] = tuple(
            Signature((kind,), WHOLE, 59, own_type=whole) for kind in (MOMENTS, TIMES)
        )
    return held


SIGNATURES: Mapping[str, tuple[Signature, ...]] = MappingProxyType(_signatures())

_INSTANTS = {"mindatetime": INSTANT.default, "maxdatetime": MAXIMUM, "now": NOW}
_ROUNDING = frozenset({"round", "floor", "ceiling"})
_OF_TYPES = frozenset({"cast", "isof", "case"})
_BEYOND = frozenset(
    {"geo.distance", "geo.intersects", "geo.length", "hassubsequence", "hassubset", "isdefined"}
)

SUPPORTED = frozenset(SIGNATURES) - {"matchespattern"} | _ROUNDING | _OF_TYPES | {"matchesPattern"}
"""The functions that may be called, spelled as OData spells them."""

CANONICAL = frozenset(SIGNATURES) | _ROUNDING | _OF_TYPES | _BEYOND
"""Every function that OData names, in lower case."""

_OF_THE_OFFSET = frozenset({"date", "time", "totaloffsetminutes", *_DATED, "hour", "minute"})


def check_name(terms: Terms, node: Call) -> None:
    """Raise `Refusal` for a function that is not supported (501), or that OData has not (400)."""
    if node.name in SIGNATURES or node.name in _ROUNDING:
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
    signatures = SIGNATURES[node.name]
    if signatures[0].parameters == (SPANS,):
        arguments = [spanned(each) for each in arguments]
    values = [terms.settled(each) for each in arguments]
    signature = _chosen(terms, node, signatures, arguments, values)
    nullable = any(each.nullable for each in values)
    special = _SPECIAL.get(node.name)
    if special is not None:
        value = special(terms, node, arguments, values)
    elif node.name in _INSTANTS:
        value = terms.slots.add(_INSTANTS[node.name])
    else:
        if node.name in _OF_THE_OFFSET:
            _check_offset(terms, node, arguments[0])
        timed = values[0].kind is TIMES and (node.name in _TIMED or node.name[0] == "f")
        name = f"{node.name}_of_time" if timed else node.name
        value = Function(name, _values(values))
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
        if value.kind is not NOTHING and value.kind not in wanted:
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
                value.kind in (NOTHING, kind)
                for value, kind in zip(values, each.parameters, strict=True)
            )
        ),
        fitting[0],
    )


def _said(value: Typed, wanted: Sequence[Kind]) -> str:
    if value.kind in NUMBERS and WHOLE in wanted:
        return "a number with decimals"
    return value.kind.expected


def _rounded(terms: Terms, node: Call, arguments: Sequence[Operand]) -> Typed:
    if len(arguments) != 1:
        raise terms.misused(node, f"{node.name} takes 1 argument, but {len(arguments)} are given.")
    held = terms.settled(arguments[0])
    if held.kind is NOTHING:
        return Typed(held.value, EXACT, nullable=True)
    if held.kind not in NUMBERS:
        raise terms.misused(
            arguments[0].node,
            f"{node.name} takes a number, but {name_of(arguments[0].node)} is "
            f"{held.kind.expected}.",
        )
    if held.kind is WHOLE:
        return as_decimal(held)
    return Typed(Function(node.name, (held.value,)), EXACT, held.nullable)


def _check_offset(terms: Terms, node: Call, argument: Operand) -> None:
    """Refuse to ask a literal for the parts of its own offset, which is not kept."""
    literal = argument.node
    if not isinstance(literal, Literal) or literal.kind != "datetimeoffset":
        return
    if not literal.text.endswith("Z"):
        raise terms.misused(
            literal, f"{node.name} is asked of UTC alone. Write the literal in UTC, with Z."
        )


def _endswith(
    terms: Terms, node: Call, arguments: Sequence[Operand], values: Sequence[Typed]
) -> Value:
    text, part = values
    simple = isinstance(arguments[1].node, Literal) and not text.nullable and not part.nullable
    name = "endswith_text" if simple else "endswith"
    return Function(name, (text.value, part.value))


def _substring(
    terms: Terms, node: Call, arguments: Sequence[Operand], values: Sequence[Typed]
) -> Value:
    for each, argument in zip(values[2:], arguments[2:], strict=True):
        if each.literal is not None and each.literal < 0:
            raise terms.misused(argument.node, "substring takes a length that is not negative.")
    written = all(each.literal is not None and each.literal >= 0 for each in values[1:])
    name = "substring_written" if written else "substring"
    return Function(name, _values(values))


def _matches(
    terms: Terms, node: Call, arguments: Sequence[Operand], values: Sequence[Typed]
) -> Value:
    pattern = arguments[1].node
    if not isinstance(pattern, Literal):
        raise terms.unsupported(pattern, "a pattern that is no literal in matchesPattern")
    if pattern.kind == "string":
        try:
            check_pattern(pattern.text)
        except PatternFault as fault:
            if fault.unsupported:
                raise terms.unsupported(
                    pattern, f"{fault.construct} in the pattern of matchesPattern"
                ) from None
            raise terms.misused(pattern, f"the pattern {fault}") from None
    return Function("matchespattern", _values(values))


def _located(
    terms: Terms, node: Call, arguments: Sequence[Operand], values: Sequence[Typed]
) -> Value:
    part = arguments[1].node
    short = isinstance(part, Literal) and len(part.text) <= SHORT
    return Function(f"{node.name}_text" if short else node.name, _values(values))


def _values(values: Sequence[Typed]) -> tuple[Value, ...]:
    return tuple([each.value for each in values])


def _startswith(
    terms: Terms, node: Call, arguments: Sequence[Operand], values: Sequence[Typed]
) -> Value:
    written = isinstance(arguments[1].node, Literal)
    return Function("startswith_text" if written else "startswith", _values(values))


_Special = Callable[[Terms, Call, Sequence[Operand], Sequence[Typed]], Value]
_SPECIAL: dict[str, _Special] = {
    "contains": _located,
    "indexof": _located,
    "startswith": _startswith,
    "endswith": _endswith,
    "substring": _substring,
    "matchespattern": _matches,
}
