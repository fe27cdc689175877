"""A bound value beside what is known of it."""

import msgspec

from comptoir.edm.numbers import MOST_DECIMAL, MOST_WHOLE, Int32
from comptoir.edm.types import PrimitiveType
from comptoir.plan.bound import Value
from comptoir.plan.expressions import types


class Typed(msgspec.Struct, frozen=True):
    """A bound value: its type, whether it may be null, and a narrower EDM type where it has one.

    `most` bounds the size of a stored number, so that what cannot overflow is computed by the
    database itself; `literal` is the number that a literal stands for.
    """

    value: Value
    type: types.ExpressionType
    nullable: bool = False
    most: int = MOST_DECIMAL
    literal: int | None = None
    own_type: PrimitiveType | None = None

    @property
    def edm_type(self) -> PrimitiveType:
        """The EDM type of the value in an answer."""
        return self.own_type or self.type.edm_type


def typed_property(value: Value, edm_type: PrimitiveType, *, nullable: bool) -> Typed:
    """A property's value."""
    expression_type = types.type_of(edm_type)
    most = edm_type.maximum + 1 if isinstance(edm_type, Int32) else MOST_DECIMAL
    return Typed(value, expression_type, nullable, min(most, MOST_WHOLE), own_type=edm_type)
