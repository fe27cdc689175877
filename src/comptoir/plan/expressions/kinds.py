"""The types of expressions: which values go together.

A Decimal has 5 decimals and 18 digits, and so have sums and quotients. A product may have more
decimals; it is *wide*: exact while the expression lasts, with up to 30 decimals.
"""

from dataclasses import dataclass

from comptoir.edm.duration import DURATION, TIME_OF_DAY, Duration, TimeOfDay
from comptoir.edm.number import DECIMAL, INT64, DecimalNumber, Int32
from comptoir.edm.primitive import PrimitiveType
from comptoir.edm.scalar import BOOLEAN, GUID, Boolean, Guid
from comptoir.edm.temporal import DATE, INSTANT, Date, DateTimeOffset
from comptoir.edm.text import TEXT, Text
from comptoir.request.expression.tree import LiteralKind


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """A type of expressions: the type that its values have when given out, and its literals.

    `form` is what to write, for messages.
    """

    name: str
    type: PrimitiveType
    literals: tuple[LiteralKind, ...]
    form: str

    @property
    def expected(self) -> str:
        """The kind as a message says it."""
        if self is RECORD:
            return "a record"
        return "null" if self is NOTHING else self.type.expected


_NUMBERS: tuple[LiteralKind, ...] = ("integer", "decimal", "double")

WORDS = Kind("text", TEXT, ("string",), "a text in single quotes")
WHOLE = Kind("whole number", INT64, _NUMBERS, "a number")
EXACT = Kind("decimal", DECIMAL, _NUMBERS, "a number")
WIDE = Kind("wide decimal", DECIMAL, _NUMBERS, "a number")
TRUTH = Kind("condition", BOOLEAN, ("boolean",), "true or false")
IDENTITY = Kind("guid", GUID, ("guid",), "a Guid without quotes")
DAYS = Kind("date", DATE, ("date",), "a date such as 2026-01-31")
MOMENTS = Kind(
    "instant", INSTANT, ("datetimeoffset",), "a date and time such as 2026-01-31T12:30:00Z"
)
TIMES = Kind("time of day", TIME_OF_DAY, ("timeofday",), "a time of day such as 23:59:59")
SPANS = Kind("duration", DURATION, ("duration",), "a duration such as duration'PT12H'")
NOTHING = Kind("null", TEXT, ("null",), "null")
RECORD = Kind("record", TEXT, (), "null")

NUMBERS = frozenset({WHOLE, EXACT, WIDE})
"""From the narrowest to the widest, each a part of the next."""

KIND_OF_LITERAL: dict[LiteralKind, Kind] = {
    literal: kind
    for kind in (WORDS, TRUTH, IDENTITY, DAYS, MOMENTS, TIMES, SPANS, NOTHING)
    for literal in kind.literals
} | {"integer": WHOLE, "decimal": EXACT, "double": EXACT}


_KIND_OF_TYPE: tuple[tuple[type[PrimitiveType], Kind], ...] = (
    (Text, WORDS),
    (Int32, WHOLE),
    (DecimalNumber, EXACT),
    (Boolean, TRUTH),
    (Guid, IDENTITY),
    (Date, DAYS),
    (DateTimeOffset, MOMENTS),
    (TimeOfDay, TIMES),
    (Duration, SPANS),
)


def kind_of(held: PrimitiveType) -> Kind:
    """The kind of a type."""
    return next(kind for each, kind in _KIND_OF_TYPE if isinstance(held, each))
