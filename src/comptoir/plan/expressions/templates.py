"""Filters that differ in their texts and Guids alone are parsed and bound once.

Those literals are cut out of the filter, and what is left is its shape. A shape is bound with a
marker in each literal's place; where the markers come out among the values tells where the
literals of every other filter of the shape go. What short texts and Guids hold never decides how a
filter is bound, which makes this right; other literals stay in the shape, because theirs may.
Where a text is more than a value (a pattern, the digits of a duration, a text so long that its
length counts), the filter is its own shape.
"""

import re
from functools import lru_cache

import msgspec

from comptoir.edm.types import Stored
from comptoir.errors import Refusal
from comptoir.plan.bound import Condition
from comptoir.plan.expressions.binding_context import BindingContext
from comptoir.plan.expressions.filters import bind_filter
from comptoir.plan.expressions.functions import SHORT_LITERAL
from comptoir.plan.expressions.keeping import LONG, LONG_KEPT, kept
from comptoir.plan.expressions.slots import NOW
from comptoir.plan.read import Where

SHAPES_KEPT = 1_000
"""How many shapes are kept: a filter of a shape seen before is not bound again."""

_LITERAL = re.compile(
    r"('(?:[^']|'')*'"
    r"|(?<![\w'.-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w'.-]))",
    re.ASCII,
)
_DECISIVE = re.compile(r"matchespattern|duration\Z", re.IGNORECASE)
# an alias may be joined to itself many times, and its length counts then
_OF_ALIASES = re.compile(r"matchespattern|concat|duration\Z", re.IGNORECASE)
_TEXT_MARKER = "'\ue000{}\ue000'"
_GUID_MARKER = "ffffffff-ffff-ffff-ffff-{:012x}"
_BETWEEN = "\1"


class _Template(msgspec.Struct, frozen=True, gc=False):
    """A shape's condition and, for each of its values, the literal that goes there, or itself."""

    condition: Condition | None
    values: tuple[Stored, ...]
    literals: tuple[int | None, ...]


def filter_where(binding: BindingContext, text: str) -> Where:
    """What a `$filter` means for a set's records; raises `Refusal` as `bind_filter` does.

    `NOW` stands among the values for the instant of the request.
    """
    binding = binding.for_text(text)
    texts = text
    if binding.aliases:
        texts = _BETWEEN.join([text, *[alias for _, alias in binding.aliases]])
    parts = _LITERAL.split(texts)
    literals = parts[1::2]
    if len(texts) > SHORT_LITERAL and any(len(each) > SHORT_LITERAL for each in literals):
        return _whole(binding, text)
    kinds = tuple([literal[0] == "'" for literal in literals])
    names = tuple([name for name, _ in binding.aliases])
    template_of = _long_template if len(texts) > LONG else _short_template
    template = template_of(_without_aliases(binding), names, tuple(parts[::2]), kinds)
    if template is None or "\0" in texts:
        return _whole(binding, text)
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


@kept(SHAPES_KEPT)
def _whole(binding: BindingContext, text: str) -> Where:
    """A filter that is its own shape."""
    return bind_filter(binding, text)


def _template(
    binding: BindingContext, names: tuple[str, ...], rest: tuple[str, ...], kinds: tuple[bool, ...]
) -> _Template | None:
    """The template of a shape; None for one that is refused, or that the texts decide about.

    `names` are those of the aliases, whose texts stand behind the filter's own.
    """
    decisive = _OF_ALIASES if names else _DECISIVE
    if any(decisive.search(part) for part in rest):
        return None
    markers = [
        (_TEXT_MARKER if is_text else _GUID_MARKER).format(number)
        for number, is_text in enumerate(kinds)
    ]
    marked = rest[0] + "".join(
        marker + part for marker, part in zip(markers, rest[1:], strict=True)
    )
    text, *aliases = marked.split(_BETWEEN)
    if len(aliases) != len(names):
        return None
    held = tuple(zip(names, aliases, strict=True))
    try:
        where = bind_filter(msgspec.structs.replace(binding, aliases=held), text)
    except Refusal:
        return None
    numbers: dict[Stored, int] = {
        marker.strip("'"): number for number, marker in enumerate(markers)
    }
    return _Template(
        where.condition, where.values, tuple([numbers.get(value) for value in where.values])
    )


_short_template = lru_cache(SHAPES_KEPT)(_template)
_long_template = lru_cache(LONG_KEPT)(_template)


def _without_aliases(binding: BindingContext) -> BindingContext:
    return msgspec.structs.replace(binding, aliases=()) if binding.aliases else binding


def dated(values: tuple[Stored, ...], now: str) -> tuple[Stored, ...]:
    """Values with the instant of the request where `NOW` stands for it."""
    return tuple([now if value is NOW else value for value in values])
