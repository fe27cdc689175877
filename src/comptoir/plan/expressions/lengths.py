"""Bounds on the length of texts that expressions compute: a few joins can multiply it."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TypeGuard

from comptoir.edm.model import Model
from comptoir.edm.types import Stored, Text
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import (
    Refusal,
    refuse,
)
from comptoir.plan.expressions.nodes import (
    Choice,
    Exists,
    Field,
    Function,
    Member,
    Related,
    Slot,
    Value,
    parts,
)
from comptoir.plan.functions import FunctionName
from comptoir.plan.read import Computed

MOST_CHARACTERS = 64_000
"""The most characters of a computed text, and of all texts of a sort order together.

The length of a property counts with its maximum, not with its value.
"""

MOST_COMPARED = 1 << 28
"""The most pairs of characters that searches for texts within texts may compare for a record.

PostgreSQL may compare every pair, about a hundred million in a tenth of a second, and cannot be
interrupted meanwhile.
"""

_SEARCH_FUNCTIONS: frozenset[FunctionName] = frozenset(
    {"contains", "contains_literal", "indexof", "indexof_literal"}
)

OTHER_LENGTH = 40.0
"""The most characters of a value of any type but text, when it is written as text."""

NONE_KNOWN: Mapping[str, float] = MappingProxyType({})


class Lengths:
    """Bounds the texts of the expressions of one query option, whose slots have these values.

    `known` are the bounds of further names.
    """

    def __init__(
        self,
        model: Model,
        option: str,
        values: Sequence[Stored],
        computed: Computed = (),
        known: Mapping[str, float] = NONE_KNOWN,
    ) -> None:
        self._model = model
        self._option = option
        self._values = values
        self._computed = {each.name: each for each in computed}
        self._properties = _lengths(model)
        self._known = known
        self._compared = 0.0

    def longest(self, node: Value, position: int) -> float:
        """Return the most characters of a value when it is written as text; may be infinite.

        Raises `Refusal` (501) for a joined text that may be too long, and for a search for long
        texts within long texts.
        """
        match node:
            case Field() if node.name in self._computed:
                computed = self._computed[node.name]
                inner = Lengths(self._model, self._option, computed.values)
                return inner.longest(computed.value, position)
            case Field() if node.name in self._known:
                return self._known[node.name]
            case Field() | Member():
                return self._properties.get(node.name, OTHER_LENGTH)
            case Slot():
                return float(len(str(self._values[node.number])))
            case Related():
                return self.longest(node.value, position)
            case Exists():
                if node.condition is not None:
                    self.longest(node.condition, position)
                return OTHER_LENGTH
        below = [self.longest(each, position) for each in parts(node)]
        if isinstance(node, Choice):
            return max(below)
        return (
            self._of_function(node, below, position) if isinstance(node, Function) else OTHER_LENGTH
        )

    def _of_function(self, node: Function, below: Sequence[float], position: int) -> float:
        length = sum(below)
        if node.name in _SEARCH_FUNCTIONS:
            text, part = [min(each, MOST_CHARACTERS) for each in below]
            self._compared += text * part
            if self._compared > MOST_COMPARED:
                construct = "A search for long texts within long texts"
                raise refuse(rows.NOT_SUPPORTED, self._option, position, construct=construct)
        if node.name == "substring_literal":
            counts = [self._values[each.number] for each in node.arguments[2:] if _is_slot(each)]
            length = min([below[0], *map(float, counts)])
        if node.name == "concat" and length > MOST_CHARACTERS:
            raise too_long(self._option, position)
        return length


def _is_slot(node: Value) -> TypeGuard[Slot]:
    return isinstance(node, Slot)


def too_long(option: str, position: int) -> Refusal:
    """501: a computed text that may be too long."""
    construct = f"A computed text of more than {MOST_CHARACTERS} characters"
    return refuse(rows.NOT_SUPPORTED, option, position, construct=construct)


@cache
def _lengths(model: Model) -> Mapping[str, float]:
    """The most characters of the text properties with a name."""
    lengths: dict[str, float] = {}
    for entity_set in model.sets:
        for each in entity_set.type.properties:
            if isinstance(each.type, Text):
                length = each.type.stored_length or math.inf
                lengths[each.name] = max(length, lengths.get(each.name, 0.0))
    return lengths
