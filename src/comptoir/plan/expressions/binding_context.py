"""The binding context: what the names in a request's expressions are bound against."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias, TypeVar

import msgspec

from comptoir.edm.model import EntitySet, Model
from comptoir.plan.read import Computed
from comptoir.request.aliases import parse_aliases, resolve
from comptoir.request.expression import ExpressionLimits
from comptoir.request.expression.tree import Node

AliasTexts = tuple[tuple[str, str], ...]
"""Parameter aliases: names without the `@`, and the texts of their expressions."""

LONG_TEXT = 2_000
"""Characters from which a text is long: its bound form has about twenty times its size."""

LONG_CACHED = 32
"""Long texts of each option whose bound form is cached."""

T = TypeVar("T")


class BindingContext(msgspec.Struct, frozen=True, cache_hash=True):
    """The entity set of a model, limits, computed properties and parameter aliases.

    `nested`: the expressions are within `$expand`, so `$it` is not the record that they are about.
    """

    model: Model
    entity_set: EntitySet
    limits: ExpressionLimits
    computed: Computed = ()
    aliases: AliasTexts = ()
    nested: bool = False

    def for_text(self, text: str) -> "BindingContext":
        """The context for an option's text: without aliases unless the text refers to one."""
        if not self.aliases or "@" in text:
            return self
        return msgspec.structs.replace(self, aliases=())

    def resolve_aliases(self, node: Node, text: str) -> Node:
        """Replace the aliases in an expression by their values; raises `Refusal` (400)."""
        if "@" not in text:
            return node
        return resolve(node, parse_aliases(self.aliases, self.limits), self.limits)


_Bind: TypeAlias = Callable[[BindingContext, str], T]


def cached(count: int) -> Callable[[_Bind[T]], _Bind[T]]:
    """Cache what a function returns for up to `count` short texts and `LONG_CACHED` long ones."""

    def decorate(bind: _Bind[T]) -> _Bind[T]:
        bind_short, bind_long = lru_cache(count)(bind), lru_cache(LONG_CACHED)(bind)

        def look_up(binding: BindingContext, text: str) -> T:
            return (bind_long if len(text) > LONG_TEXT else bind_short)(binding, text)

        return look_up

    return decorate
