"""How long texts may become that an expression makes: who multiplies them makes them unbounded."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeGuard

from comptoir.edm.model import Model
from comptoir.edm.types import Stored, Text
from comptoir.errors import Refusal
from comptoir.plan.bound import (
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
from comptoir.plan.faults import unsupported
from comptoir.plan.functions import FunctionName
from comptoir.plan.read import Computed

MOST_CHARACTERS = 64_000
"""How long a text that is made may be, and all texts together that are sorted by.

It is measured by how long properties may be, not by how long they are.
"""

MOST_COMPARED = 1 << 28
"""How many characters may be compared for a record, where texts are looked for within texts.

PostgreSQL may compare each character of either with each of the other, some hundred million in
a tenth of a second, and cannot be interrupted meanwhile.
"""

_SEARCHING: frozenset[FunctionName] = frozenset(
    {"contains", "contains_literal", "indexof", "indexof_literal"}
)

OTHER_LENGTH = 40.0
"""An upper bound of the characters that a value of another type than text has as text."""

NONE_KNOWN: Mapping[str, float] = MappingProxyType({})


class Lengths:
    """Measures the texts of the expressions of one option, whose slots have these values.

    `known` are lengths that have been measured, of names beside the properties.
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
        """The most characters that a value has as text; infinite where it has no limit.

        Raises `Refusal` (501) where texts are joined to one that may be too long, or looked for in
        one another where both may be long.
        """
        match node:
            case Field() if node.name in self._computed:
                held = self._computed[node.name]
                inner = Lengths(self._model, self._option, held.values)
                return inner.longest(held.value, position)
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
        return self._made(node, below, position) if isinstance(node, Function) else OTHER_LENGTH

    def _made(self, node: Function, below: Sequence[float], position: int) -> float:
        length = sum(below)
        if node.name in _SEARCHING:
            text, part = [min(each, MOST_CHARACTERS) for each in below]
            self._compared += text * part
            if self._compared > MOST_COMPARED:
                construct = "looking for long texts within long texts so often"
                raise unsupported(self._option, position, construct)
        if node.name == "substring_literal":
            counts = [self._values[each.number] for each in node.arguments[2:] if _is_slot(each)]
            length = min([below[0], *map(float, counts)])
        if node.name == "concat" and length > MOST_CHARACTERS:
            raise too_long(self._option, position)
        return length


def _is_slot(node: Value) -> TypeGuard[Slot]:
    return isinstance(node, Slot)


def too_long(option: str, position: int) -> Refusal:
    """501: a text that may be longer than those that are made or sorted by."""
    return unsupported(option, position, f"making texts of more than {MOST_CHARACTERS} characters")


def _lengths(model: Model) -> Mapping[str, float]:
    """The most characters of the text properties of a name."""
    lengths: dict[str, float] = {}
    for entity_set in model.sets:
        for each in entity_set.type.properties:
            if isinstance(each.type, Text):
                length = each.type.max_length or math.inf
                lengths[each.name] = max(length, lengths.get(each.name, 0.0))
    return lengths
