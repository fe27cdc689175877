"""The types of expressions: which values go together.

A Decimal has a fixed precision and scale, and so have sums and quotients. A product may have more
digits after the decimal point: it is a wide decimal, exact within the expression.
"""

from dataclasses import dataclass

from comptoir.edm import duration, number, scalar, temporal, text
from comptoir.edm.primitive import PrimitiveType
from comptoir.request.expression.tree import LiteralKind


@dataclass(frozen=True, eq=False, slots=True)
class ExpressionType:
    """A type of expressions: the EDM type of its values in an answer, and its literals.

    Messages show `form` as what to write.
    """

    edm_type: PrimitiveType
    literals: tuple[LiteralKind, ...]
    form: str

    @property
    def expected(self) -> str:
        """The type as messages name it."""
        if self is RECORD:
            return "a record"
        return "null" if self is NULL else self.edm_type.expected


_NUMBERS: tuple[LiteralKind, ...] = ("integer", "decimal", "double")

TEXT = ExpressionType(text.TEXT, ("string",), "a text in single quotes")
WHOLE = ExpressionType(number.INT64, _NUMBERS, "a number")
DECIMAL = ExpressionType(number.DECIMAL, _NUMBERS, "a number")
WIDE_DECIMAL = ExpressionType(number.DECIMAL, _NUMBERS, "a number")
BOOLEAN = ExpressionType(scalar.BOOLEAN, ("boolean",), "true or false")
GUID = ExpressionType(scalar.GUID, ("guid",), "a Guid without quotes")
DATE = ExpressionType(temporal.DATE, ("date",), "a date such as 2026-01-31")
DATE_TIME = ExpressionType(
    temporal.INSTANT, ("datetimeoffset",), "a date and time such as 2026-01-31T12:30:00Z"
)
TIME_OF_DAY = ExpressionType(duration.TIME_OF_DAY, ("timeofday",), "a time of day such as 23:59:59")
DURATION = ExpressionType(duration.DURATION, ("duration",), "a duration such as duration'PT12H'")
NULL = ExpressionType(text.TEXT, ("null",), "null")
RECORD = ExpressionType(text.TEXT, (), "null")

NUMBERS = frozenset({WHOLE, DECIMAL, WIDE_DECIMAL})
"""From the narrowest to the widest, each a part of the next."""

TYPE_OF_LITERAL: dict[LiteralKind, ExpressionType] = {
    literal: each
    for each in (TEXT, BOOLEAN, GUID, DATE, DATE_TIME, TIME_OF_DAY, DURATION, NULL)
    for literal in each.literals
} | {"integer": WHOLE, "decimal": DECIMAL, "double": DECIMAL}


_EXPRESSION_TYPES: tuple[tuple[type[PrimitiveType], ExpressionType], ...] = (
    (text.Text, TEXT),
    (number.Int32, WHOLE),
    (number.DecimalNumber, DECIMAL),
    (scalar.Boolean, BOOLEAN),
    (scalar.Guid, GUID),
    (temporal.Date, DATE),
    (temporal.DateTimeOffset, DATE_TIME),
    (duration.TimeOfDay, TIME_OF_DAY),
    (duration.Duration, DURATION),
)


def type_of(edm_type: PrimitiveType) -> ExpressionType:
    """The type of an expression whose value has an EDM type."""
    return next(found for each, found in _EXPRESSION_TYPES if isinstance(edm_type, each))
