"""Caches of bound query options: by their text, and filters by their template.

Filters that differ only in texts and Guids are parsed and bound once. The literals are cut out of a
filter; the rest is its shape. A shape is bound with a marker in place of each literal. The
positions of the markers among the bound values say where the literals of every other filter of this
shape belong. This is correct since the content of a short text or Guid never decides how a filter
is bound. Other literals stay in the shape, since their content may. A filter whose texts are more
than values (a pattern, a duration, a text so long that its length counts) is bound by itself.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias, TypeVar

import msgspec

from comptoir.edm.types import Stored
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions.calls import SHORT_LITERAL
from comptoir.plan.expressions.nodes import NOW, Condition
from comptoir.plan.expressions.operands import BindingContext
from comptoir.plan.read import Where

TEMPLATES_CACHED = 1_000
"""Short filters whose template is cached, and as many that are bound by themselves."""

LONG_TEXT = 2_000
"""Characters from which a text is long: its bound form has about twenty times its size."""

LONG_CACHED = 32
"""Long texts of each option whose bound form is cached."""

T = TypeVar("T")
_Bind: TypeAlias = Callable[[BindingContext, str], T]

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


def cached(count: int) -> Callable[[_Bind[T]], _Bind[T]]:
    """Cache what a function returns for up to `count` short texts and `LONG_CACHED` long ones."""

    def decorate(bind: _Bind[T]) -> _Bind[T]:
        bind_short, bind_long = lru_cache(count)(bind), lru_cache(LONG_CACHED)(bind)

        def look_up(binding: BindingContext, text: str) -> T:
            if binding.aliases and "@" not in text:
                binding = _without_aliases(binding)
            return (bind_long if len(text) > LONG_TEXT else bind_short)(binding, text)

        return look_up

    return decorate


def templated(bind: _Bind[Where]) -> _Bind[Where]:
    """Cache the filters that a function binds by their templates."""
    return _Templates(bind).where


class _Templates:
    """The templates of the filters that `bind` binds."""

    def __init__(self, bind: _Bind[Where]) -> None:
        self._bind = bind
        self._bind_whole = cached(TEMPLATES_CACHED)(bind)
        self._short_template = lru_cache(TEMPLATES_CACHED)(self._template)
        self._long_template = lru_cache(LONG_CACHED)(self._template)

    def where(self, binding: BindingContext, text: str) -> Where:
        texts = text
        names: tuple[str, ...] = ()
        shared = binding
        if binding.aliases:
            shared = _without_aliases(binding)
            if "@" in text:
                names = tuple([name for name, _ in binding.aliases])
                texts = _SEPARATOR.join([text, *[alias for _, alias in binding.aliases]])
        parts = _LITERAL.split(texts)
        literals = parts[1::2]
        if len(texts) > SHORT_LITERAL and any(len(each) > SHORT_LITERAL for each in literals):
            return self._bind_whole(binding, text)
        is_text = tuple([literal[0] == "'" for literal in literals])
        template_of = self._long_template if len(texts) > LONG_TEXT else self._short_template
        template = template_of(shared, names, tuple(parts[::2]), is_text)
        if template is None or "\0" in texts:
            return self._bind_whole(binding, text)
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

    def _template(
        self,
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
        marked_aliases = tuple(zip(names, aliases, strict=True))
        try:
            where = self._bind(msgspec.structs.replace(binding, aliases=marked_aliases), text)
        except Refusal:
            return None
        numbers: dict[Stored, int] = {
            marker.strip("'"): number for number, marker in enumerate(markers)
        }
        literals = tuple([numbers.get(value) for value in where.values])
        return _Template(where.condition, where.values, literals)


def _without_aliases(binding: BindingContext) -> BindingContext:
    return msgspec.structs.replace(binding, aliases=())


def with_time(values: tuple[Stored, ...], now: str) -> tuple[Stored, ...]:
    """Replace the placeholder `NOW` among values by the time of the request."""
    return tuple([now if value is NOW else value for value in values])
