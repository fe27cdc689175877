"""The values of a request, lifted out of its expression into numbered slots."""

from collections.abc import Sequence

from comptoir.edm.types import Stored
from comptoir.plan.bound import Slot

NOW = "\0now"
"""Stands among values for the instant of the request, which no text can be: it holds a NUL."""


class Slots:
    """Collects values in the order in which the binding meets them."""

    def __init__(self, values: Sequence[Stored] = ()) -> None:
        self.values: list[Stored] = list(values)

    def add(self, value: Stored) -> Slot:
        """Keep a value and give the slot that stands for it."""
        self.values.append(value)
        return Slot(len(self.values) - 1, isinstance(value, int))

    def add_list(self, values: Sequence[Stored]) -> tuple[Slot, ...]:
        """Keep the values of a list, the last repeated up to a power of two.

        So lists of many lengths have few shapes, and statements are built for few.
        """
        return tuple([self.add(value) for value in padded(values)])


def padded(values: Sequence[Stored]) -> list[Stored]:
    """The values of a list, at least one, the last repeated up to a power of two."""
    length = 1 << (len(values) - 1).bit_length()
    return [*values, *[values[-1]] * (length - len(values))]
