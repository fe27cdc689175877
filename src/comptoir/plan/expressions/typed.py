"""A bound value beside what is known of it."""

import msgspec

from comptoir.edm.number import MOST_DECIMAL, MOST_WHOLE, Int32
from comptoir.edm.primitive import PrimitiveType
from comptoir.plan.bound import Value
from comptoir.plan.expressions.kinds import Kind, kind_of


class Typed(msgspec.Struct, frozen=True):
    """A bound value: its kind, whether it may be null, and its type where that is a narrower one.

    `most` bounds the size of a stored number, so that what cannot overflow is computed by the
    database itself; `literal` is the number that a literal stands for.
    """

    value: Value
    kind: Kind
    nullable: bool = False
    most: int = MOST_DECIMAL
    literal: int | None = None
    own_type: PrimitiveType | None = None

    @property
    def type(self) -> PrimitiveType:
        """The type of the value when it is given out."""
        return self.own_type or self.kind.type


def typed_property(value: Value, held: PrimitiveType, *, nullable: bool) -> Typed:
    """A property's value."""
    kind = kind_of(held)
    most = held.maximum + 1 if isinstance(held, Int32) else MOST_DECIMAL
    return Typed(value, kind, nullable, min(most, MOST_WHOLE), own_type=held)
