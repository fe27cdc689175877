"""Filter templates: filters that differ only in texts and Guids are parsed and bound once.

The literals are cut out of a filter; the rest is its shape. A shape is bound with a marker in
place of each literal. The positions of the markers among the bound values say where the literals of
every other filter of this shape belong. This is correct since the content of a short text or Guid
never decides how a filter is bound. Other literals stay in the shape, since theirs may. A filter
whose texts are more than values (a pattern, a duration, a text so long that its length counts) is
bound by itself.
"""

import re
from functools import lru_cache

import msgspec

from comptoir.edm.types import Stored
from comptoir.errors import Refusal
from comptoir.plan.expressions.binding_context import LONG_CACHED, LONG_TEXT, BindingContext, cached
from comptoir.plan.expressions.calls import SHORT_LITERAL
from comptoir.plan.expressions.nodes import NOW, Condition
from comptoir.plan.expressions.options import bind_filter
from comptoir.plan.read import Where

TEMPLATES_CACHED = 1_000
"""Short filters whose template is cached, and as many that are bound by themselves."""

_LITERAL = re.compile(
    r"('(?:[^']|'')*'"
    r"|(?<![\w'.-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w'.-]))",
    re.ASCII,
)
_DECISIVE = re.compile(r"matchespattern|duration\Z", re.IGNORECASE)
# An alias may be joined to itself many times; then its length counts.
_DECISIVE_WITH_ALIASES = re.compile(r"matchespattern|concat|duration\Z", re.IGNORECASE)
_TEXT_MARKER = "'\ue000{}\ue000'"
_GUID_MARKER = "ffffffff-ffff-ffff-ffff-{:012x}"
_SEPARATOR = "\1"


class _Template(msgspec.Struct, frozen=True, gc=False):
    """A shape's condition and values; `literals` has the index of each value's literal, or None."""

    condition: Condition | None
    values: tuple[Stored, ...]
    literals: tuple[int | None, ...]


def filter_where(binding: BindingContext, text: str) -> Where:
    """Bind a `$filter` by its template; raises `Refusal` as `bind_filter` does.

    The value `NOW` is a placeholder for the time of the request.
    """
    binding = binding.for_text(text)
    texts = text
    if binding.aliases:
        texts = _SEPARATOR.join([text, *[alias for _, alias in binding.aliases]])
    parts = _LITERAL.split(texts)
    literals = parts[1::2]
    if len(texts) > SHORT_LITERAL and any(len(each) > SHORT_LITERAL for each in literals):
        return _without_template(binding, text)
    is_text = tuple([literal[0] == "'" for literal in literals])
    names = tuple([name for name, _ in binding.aliases])
    template_of = _long_template if len(texts) > LONG_TEXT else _short_template
    template = template_of(_without_aliases(binding), names, tuple(parts[::2]), is_text)
    if template is None or "\0" in texts:
        return _without_template(binding, text)
    values = [
        literal[1:-1].replace("''", "'") if literal[0] == "'" else literal.lower()
        for literal in literals
    ]
    return Where(
        template.condition,
        tuple(
            [
                value if number is None else values[number]
                for value, number in zip(template.values, template.literals, strict=True)
            ]
        ),
    )


@cached(TEMPLATES_CACHED)
def _without_template(binding: BindingContext, text: str) -> Where:
    return bind_filter(binding, text)


def _template(
    binding: BindingContext,
    names: tuple[str, ...],
    rest: tuple[str, ...],
    is_text: tuple[bool, ...],
) -> _Template | None:
    """The template of a shape; None if it is refused, or if its texts decide how it is bound.

    `names` are those of the aliases, whose texts follow the filter's own.
    """
    decisive = _DECISIVE_WITH_ALIASES if names else _DECISIVE
    if any(decisive.search(part) for part in rest):
        return None
    markers = [
        (_TEXT_MARKER if quoted else _GUID_MARKER).format(number)
        for number, quoted in enumerate(is_text)
    ]
    marked = rest[0] + "".join(
        marker + part for marker, part in zip(markers, rest[1:], strict=True)
    )
    text, *aliases = marked.split(_SEPARATOR)
    if len(aliases) != len(names):
        return None
    try:
        where = bind_filter(
            msgspec.structs.replace(binding, aliases=tuple(zip(names, aliases, strict=True))), text
        )
    except Refusal:
        return None
    numbers: dict[Stored, int] = {
        marker.strip("'"): number for number, marker in enumerate(markers)
    }
    return _Template(
        where.condition, where.values, tuple([numbers.get(value) for value in where.values])
    )


_short_template = lru_cache(TEMPLATES_CACHED)(_template)
_long_template = lru_cache(LONG_CACHED)(_template)


def _without_aliases(binding: BindingContext) -> BindingContext:
    return msgspec.structs.replace(binding, aliases=()) if binding.aliases else binding


def with_time(values: tuple[Stored, ...], now: str) -> tuple[Stored, ...]:
    """Replace the placeholder `NOW` among values by the time of the request."""
    return tuple([now if value is NOW else value for value in values])
