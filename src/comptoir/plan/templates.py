"""Filters that differ in their texts and Guids alone are parsed and bound once.

Those literals are cut out of the filter, and what is left is its shape. A shape is bound with a
marker in each literal's place; where the markers come out among the values tells where the
literals of every other filter of the shape go. What texts and Guids hold never decides how a
filter is bound, which makes this right; other literals stay in the shape, because theirs may.
"""

import re
from functools import lru_cache

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored
from comptoir.errors import Refusal
from comptoir.plan.bound import Condition
from comptoir.plan.filters import bind_filter
from comptoir.plan.read import Where
from comptoir.request.expression import ExpressionLimits

SHAPES_KEPT = 1_000
"""How many shapes are kept: a filter of a shape seen before is not bound again."""

_LITERAL = re.compile(
    r"('(?:[^']|'')*'"
    r"|(?<![\w'.-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w'.-]))",
    re.ASCII,
)
_TEXT_MARKER = "'\ue000{}\ue000'"
_GUID_MARKER = "ffffffff-ffff-ffff-ffff-{:012x}"


class _Template(msgspec.Struct, frozen=True):
    """A shape's condition and, for each of its values, the literal that goes there, or itself."""

    condition: Condition | None
    values: tuple[Stored, ...]
    literals: tuple[int | None, ...]


def filter_where(entity_set: EntitySet, text: str, limits: ExpressionLimits) -> Where:
    """What a `$filter` means for a set's records; raises `Refusal` as `bind_filter` does."""
    parts = _LITERAL.split(text)
    literals = parts[1::2]
    kinds = tuple([literal[0] == "'" for literal in literals])
    template = _template(entity_set, tuple(parts[::2]), kinds, limits)
    if template is None or "\0" in text:
        return bind_filter(entity_set, text, limits)
    values = [
        literal[1:-1].replace("''", "'") if literal[0] == "'" else literal.lower()
        for literal in literals
    ]
    return Where(
        template.condition,
        tuple(
            [
                held if number is None else values[number]
                for held, number in zip(template.values, template.literals, strict=True)
            ]
        ),
    )


@lru_cache(SHAPES_KEPT)
def _template(
    entity_set: EntitySet, rest: tuple[str, ...], kinds: tuple[bool, ...], limits: ExpressionLimits
) -> _Template | None:
    """The template of a shape; None for one that is refused, which the filter itself must be."""
    markers = [
        (_TEXT_MARKER if is_text else _GUID_MARKER).format(number)
        for number, is_text in enumerate(kinds)
    ]
    marked = rest[0] + "".join(
        marker + part for marker, part in zip(markers, rest[1:], strict=True)
    )
    try:
        where = bind_filter(entity_set, marked, limits)
    except Refusal:
        return None
    numbers: dict[Stored, int] = {
        marker.strip("'"): number for number, marker in enumerate(markers)
    }
    return _Template(
        where.condition, where.values, tuple([numbers.get(value) for value in where.values])
    )
