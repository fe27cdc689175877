"""The types of expressions: which values go together.

A Decimal has a fixed precision and scale, and so have sums and quotients. A product may have more
digits after the decimal point: it is a wide decimal, exact within the expression.
"""

from dataclasses import dataclass

from comptoir.edm import numbers, times, types
from comptoir.edm.types import PrimitiveType
from comptoir.request.expression.tree import LiteralType


@dataclass(frozen=True, eq=False, slots=True)
class ExpressionType:
    """A type of expressions: the EDM type of its values in an answer, and its literals.

    Messages show `form` as what to write.
    """

    edm_type: PrimitiveType
    literals: tuple[LiteralType, ...]
    form: str

    @property
    def expected(self) -> str:
        """The type as messages name it."""
        if self is RECORD:
            return "a record"
        return "null" if self is NULL else self.edm_type.expected


_NUMBERS: tuple[LiteralType, ...] = ("integer", "decimal", "double")

TEXT = ExpressionType(types.TEXT, ("string",), "a text in single quotes")
WHOLE = ExpressionType(numbers.INT64, _NUMBERS, "a number")
DECIMAL = ExpressionType(numbers.DECIMAL, _NUMBERS, "a number")
WIDE_DECIMAL = ExpressionType(numbers.DECIMAL, _NUMBERS, "a number")
BOOLEAN = ExpressionType(types.BOOLEAN, ("boolean",), "true or false")
GUID = ExpressionType(types.GUID, ("guid",), "a Guid without quotes")
DATE = ExpressionType(times.DATE, ("date",), "a date such as 2026-01-31")
DATE_TIME = ExpressionType(
    times.INSTANT, ("datetimeoffset",), "a date and time such as 2026-01-31T12:30:00Z"
)
TIME_OF_DAY = ExpressionType(times.TIME_OF_DAY, ("timeofday",), "a time of day such as 23:59:59")
DURATION = ExpressionType(times.DURATION, ("duration",), "a duration such as duration'PT12H'")
NULL = ExpressionType(types.TEXT, ("null",), "null")
RECORD = ExpressionType(types.TEXT, (), "null")

NUMBERS = frozenset({WHOLE, DECIMAL, WIDE_DECIMAL})
"""From the narrowest to the widest, each a part of the next."""

TYPE_OF_LITERAL: dict[LiteralType, ExpressionType] = {
    literal: each
    for each in (TEXT, BOOLEAN, GUID, DATE, DATE_TIME, TIME_OF_DAY, DURATION, NULL)
    for literal in each.literals
} | {"integer": WHOLE, "decimal": DECIMAL, "double": DECIMAL}


_EXPRESSION_TYPES: tuple[tuple[type[PrimitiveType], ExpressionType], ...] = (
    (types.Text, TEXT),
    (numbers.Int32, WHOLE),
    (numbers.DecimalNumber, DECIMAL),
    (types.Boolean, BOOLEAN),
    (types.Guid, GUID),
    (times.Date, DATE),
    (times.DateTimeOffset, DATE_TIME),
    (times.TimeOfDay, TIME_OF_DAY),
    (times.Duration, DURATION),
)


def type_of(edm_type: PrimitiveType) -> ExpressionType:
    """The type of an expression whose value has an EDM type."""
    return next(found for each, found in _EXPRESSION_TYPES if isinstance(edm_type, each))
