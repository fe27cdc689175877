"""Operands: the values of literals and other nodes, and what all parts of a binding share."""

import re
from collections.abc import Iterable
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import NamedTuple

import msgspec

from comptoir.edm.model import EntitySet, Model
from comptoir.edm.numbers import MOST_DECIMAL, MOST_WHOLE, PRECISION, SCALE, WHOLE_DIGITS, Int32
from comptoir.edm.types import EdmError, EnumText, PrimitiveType, Stored
from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.errors.refusal import Fact, Refusal, RefusalRow
from comptoir.errors.table import INVALID_URL
from comptoir.plan.expressions import nodes, types
from comptoir.plan.expressions.types import LARGEST, WIDE_SCALE, FunctionName, wide_text
from comptoir.plan.read import Computed
from comptoir.plan.target import Readable
from comptoir.profiles.record import ODATA, FilterRules
from comptoir.request.aliases import parse_aliases, resolve
from comptoir.request.expression import tree
from comptoir.request.expression.lexer import QUOTED_FORMS, duration_text
from comptoir.request.expression.parser import ExpressionLimits

AliasTexts = tuple[tuple[str, str], ...]
"""Parameter aliases: names without the `@`, and the texts of their expressions."""


class BindingContext(msgspec.Struct, frozen=True, cache_hash=True):
    """The entity set of a model, limits, computed properties and parameter aliases.

    `nested`: the expressions are within `$expand`, so `$it` is not the record that they are about.
    `readable` are the sets whose records the expressions may use. It is a part of the context so
    that what is bound for one client is never taken from a cache for another one, and so is the
    `dialect`.
    """

    model: Model
    entity_set: EntitySet
    limits: ExpressionLimits
    computed: Computed = ()
    aliases: AliasTexts = ()
    nested: bool = False
    readable: Readable = None
    dialect: FilterRules = ODATA

    def resolve_aliases(self, node: tree.Node, text: str) -> tree.Node:
        """Replace the aliases in an expression by their values; raises `Refusal` (400)."""
        if "@" not in text:
            return node
        return resolve(node, parse_aliases(self.aliases, self.limits), self.limits)


_LARGEST_LITERAL = {types.WHOLE: MOST_WHOLE, types.DECIMAL: MOST_DECIMAL}
_WIDE_LIMITS = (wide_text(LARGEST), wide_text(-LARGEST))

# beyond every stored number, and within 64 bits, so that columns compare with it
_BEYOND_DECIMALS = 4 * 10**PRECISION

_RANGES = {
    types.WHOLE: (0, MOST_WHOLE + 1, -MOST_WHOLE - 1, MOST_WHOLE),
    types.DECIMAL: (SCALE, 10 ** (PRECISION - SCALE), -_BEYOND_DECIMALS, _BEYOND_DECIMALS),
    types.WIDE_DECIMAL: (WIDE_SCALE, 10**WHOLE_DIGITS, -LARGEST, LARGEST),
}
"""The range of each type of numbers: its scale, the first number above it, and the stored values
that replace numbers below and above it."""

_MIDNIGHT = "00:00:00.000Z"

_DURATION = QUOTED_FORMS["duration"]

_TOO_FINE = {
    types.DATE_TIME: re.compile(r"\.\d{3}\d*[1-9]"),
    types.TIME_OF_DAY: re.compile(r"\.\d{3}\d*[1-9]"),
    types.DURATION: re.compile(rf"\.\d{{{SCALE}}}\d*[1-9]"),
}
"""A fraction of a second with more digits, other than zeros, than are stored."""


class TypedValue(msgspec.Struct, frozen=True):
    """A bound value: its type, whether it may be null, and a narrower EDM type where it has one.

    `most` bounds the absolute value of a number in its stored form: the database computes an
    operation itself if the result certainly fits. `literal` is the number of a literal.
    """

    value: nodes.Value
    type: types.ExpressionType
    nullable: bool = False
    most: int = MOST_DECIMAL
    literal: int | None = None
    own_type: PrimitiveType | None = None

    @property
    def edm_type(self) -> PrimitiveType:
        """The EDM type of the value in a response."""
        return self.own_type or self.type.edm_type


def called(
    function: FunctionName,
    result: types.ExpressionType,
    *arguments: TypedValue,
    nullable: bool = False,
    most: int = MOST_DECIMAL,
    literal: int | None = None,
    own_type: PrimitiveType | None = None,
) -> TypedValue:
    """Return the value of a function; it may be null if an argument may be, or if `nullable`."""
    value = nodes.Function(function, tuple([each.value for each in arguments]))
    nullable = nullable or any(each.nullable for each in arguments)
    return TypedValue(value, result, nullable, most, literal, own_type)


def boolean(value: nodes.Value, *, nullable: bool = False) -> TypedValue:
    """Return a condition with its type."""
    return TypedValue(value, types.BOOLEAN, nullable)


def constant(*, value: bool) -> TypedValue:
    """Return a condition that is always true, or never."""
    return boolean(nodes.Constant(value))


def typed_property(value: nodes.Value, edm_type: PrimitiveType, *, nullable: bool) -> TypedValue:
    """Return the value of a property with its type and bound."""
    expression_type = types.type_of(edm_type)
    most = edm_type.maximum + 1 if isinstance(edm_type, Int32) else MOST_DECIMAL
    return TypedValue(value, expression_type, nullable, min(most, MOST_WHOLE), own_type=edm_type)


class LiteralValue(msgspec.Struct, frozen=True):
    """The stored form of a literal, or None for NaN.

    `exact` is False for a literal between two values that can be stored; `stored` is the lower one.
    """

    stored: Stored | None
    exact: bool = True


class Operand(NamedTuple):
    """A node and its value, which is None for a literal whose type depends on the other operand."""

    node: tree.Node
    typed: TypedValue | None


class BoundOption:
    """The query option that is being bound: its name, the slots of its values, its refusals."""

    def __init__(self, name: str, slots: nodes.Slots, binding: BindingContext) -> None:
        self.name = name
        self.slots = slots
        self.dialect = binding.dialect
        self.namespace = binding.model.namespace

    def refuse(
        self, row: RefusalRow, node: tree.Node, /, *, known: Iterable[str] = (), **facts: Fact
    ) -> Refusal:
        """The refusal of a node, by what it means."""
        return row(self.name, node.position, known=known, more=facts)

    def unsupported(self, node: tree.Node, construct: str) -> Refusal:
        """501: valid OData that the service does not support."""
        return self.refuse(rows.NOT_SUPPORTED, node, construct=construct)

    def literal(
        self,
        node: tree.Literal,
        wanted: types.ExpressionType,
        own_type: PrimitiveType | None = None,
    ) -> LiteralValue:
        """Return a literal as a value of a type; raises `Refusal` (400, 501).

        `own_type` is that of the property with which it is compared.
        """
        try:
            value = _literal_value(node, wanted)
            if node.type == "enum" and isinstance(own_type, EnumText) and own_type.name:
                value = LiteralValue(own_type.from_literal(node.text))
            elif isinstance(own_type, EnumText) and value is not None:
                value = LiteralValue(own_type.from_text(node.text))
        except EdmError as error:
            raise error.refusal(
                described(node), self.name, node.position, error=INVALID_URL
            ) from None
        if value is None:
            raise self.refuse(
                rows.LITERAL_COMPARED,
                node,
                node=described(node),
                type=self._type_of(node).expected,
                wanted=wanted.expected,
                form=wanted.form,
            )
        return value

    def value(self, operand: Operand) -> TypedValue:
        """Return the value of an operand; a literal gets its own type. Raises `Refusal`."""
        if operand.typed is not None:
            return operand.typed
        node = operand.node
        if not isinstance(node, tree.Literal):
            raise LookupError(f"{type(node).__name__} has not been bound")
        wanted = self._type_of(node)
        if wanted is types.NULL:
            return TypedValue(nodes.Null(), types.NULL, nullable=True)
        if wanted is types.BOOLEAN:
            return constant(value=node.text == "true")
        if wanted is types.DECIMAL and not self.literal(node, types.DECIMAL).exact:
            wanted = types.WIDE_DECIMAL
        literal = self.literal(node, wanted)
        if literal.stored is None or node.text in ("INF", "-INF"):
            raise self.unsupported(node, f"Arithmetic with {node.text}")
        if wanted in types.NUMBERS:
            return self._number(node, wanted, literal)
        if not literal.exact:
            raise self.refuse(rows.TOO_PRECISE, node, node=described(node))
        return TypedValue(self.slots.add(literal.stored), wanted)

    def _type_of(self, node: tree.Literal) -> types.ExpressionType:
        found = types.TYPE_OF_LITERAL.get(node.type)
        if found is None:
            raise self.unsupported(node, f"The {node.type} literal {quoted(node.text)}")
        return found

    def _number(
        self, node: tree.Literal, wanted: types.ExpressionType, literal: LiteralValue
    ) -> TypedValue:
        stored = literal.stored
        if wanted is types.WIDE_DECIMAL and stored is not None:
            if literal.exact and stored not in _WIDE_LIMITS:
                return TypedValue(self.slots.add(stored), types.WIDE_DECIMAL)
        elif literal.exact and abs(int(stored or 0)) <= _LARGEST_LITERAL[wanted]:
            number = int(stored or 0)
            return TypedValue(self.slots.add(number), wanted, most=abs(number), literal=number)
        raise self.refuse(
            rows.TOO_LARGE, node, node=described(node), whole=WHOLE_DIGITS, scale=WIDE_SCALE
        )


def described(node: tree.Node) -> str:
    """The name of a node at the start of a message."""
    name = name_of(node)
    return f"T{name[1:]}" if name.startswith("the ") else name


def name_of(node: tree.Node) -> str:
    """The name of a node within a message."""
    match node:
        case tree.Path():
            return "/".join(node.segments)[:100]
        case tree.Call():
            return f"{node.name}(…)"
        case tree.Literal():
            return f"the literal {quoted(node.text)}"
        case tree.Binary() | tree.Unary() | tree.Logical() | tree.Lambda():
            return f"the operator {node.operator}"
        case tree.In() | tree.InCollection():
            return "the operator in"
        case tree.Parameter():
            return f"the parameter alias @{node.name[:60]}"
        case tree.Case():
            return "case(…)"
        case tree.Collection():
            return "the list […]"


def duration_operand(operand: Operand) -> Operand:
    """Return an operand that may be a duration, with a text in that form as a duration."""
    node = operand.node
    if isinstance(node, tree.Literal) and node.type == "string":
        return Operand(as_duration(node), operand.typed)
    return operand


def as_duration(literal: tree.Literal) -> tree.Literal:
    """Return a text in the form of a duration as a duration, and any other literal as it is.

    Since OData 4.01 a duration needs no prefix (URL Conventions, section 5.1.1.14.1).
    """
    if literal.type != "string" or _DURATION.fullmatch(literal.text) is None:
        return literal
    return tree.Literal("duration", duration_text(literal.text), literal.position)


def as_date(literal: tree.Literal) -> tree.Literal:
    """Return a date-time at midnight UTC as its date, and any other literal as it is.

    Some clients have one type for both. Raises `EdmError` for another time of day.
    """
    if literal.type != "datetimeoffset":
        return literal
    day, _, time = str(types.DATE_TIME.edm_type.from_text(literal.text)).partition("T")
    if time != _MIDNIGHT or _TOO_FINE[types.DATE_TIME].search(literal.text):
        raise EdmError(rows.NOT_MIDNIGHT, date=literal.text.partition("T")[0])
    return tree.Literal("date", day, literal.position)


def _literal_value(literal: tree.Literal, wanted: types.ExpressionType) -> LiteralValue | None:
    """A literal as a value of a type, None for one of another type; raises `EdmError`."""
    if wanted is types.DURATION:
        literal = as_duration(literal)
    elif wanted is types.DATE:
        literal = as_date(literal)
    if literal.type not in wanted.literals:
        return None
    if wanted in types.NUMBERS:
        return _number_value(literal.text, wanted)
    if wanted is types.TEXT:
        # A text that is longer than the property equals none of its values, and is not an error.
        if "\0" in literal.text:
            raise EdmError(rows.NUL_IN_VALUE)
        return LiteralValue(literal.text)
    is_exact = wanted not in _TOO_FINE or _TOO_FINE[wanted].search(literal.text) is None
    stored = wanted.edm_type.from_text(literal.text)
    if not is_exact and isinstance(stored, int) and literal.text.startswith("-"):
        stored -= 1
    return LiteralValue(stored, is_exact)


def _number_value(text: str, wanted: types.ExpressionType) -> LiteralValue:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise EdmError(rows.LONG_EXPONENT) from None
    if number.is_nan():
        return LiteralValue(None)
    scale, limit, lowest, highest = _RANGES[wanted]
    if number.copy_abs() >= limit:
        # a whole number that is compared with this one may be as large
        units, is_exact = lowest if number < 0 else highest, wanted is not types.WHOLE
    elif number and number.adjusted() < -40:
        units, is_exact = 0 if number > 0 else -1, False
    else:
        # with as many digits as the text has, so that none is rounded
        scaled = number.scaleb(scale, Context(prec=len(text)))
        units = int(scaled.to_integral_value(rounding=ROUND_FLOOR))
        is_exact = units == scaled
    return LiteralValue(wide_text(units) if wanted is types.WIDE_DECIMAL else units, is_exact)
