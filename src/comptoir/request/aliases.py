"""Parameter aliases (OData URL Conventions 4.01, 5.3): `$filter=number eq @n&@n='10000'`."""

from collections.abc import Iterable, Mapping
from typing import cast

import msgspec

from comptoir.errors import refusal_rows as rows
from comptoir.request.expression import tree
from comptoir.request.expression.parser import DEFAULT_LIMITS, ExpressionLimits, parse_expression

Aliases = Mapping[str, tree.Node]
"""Names without the `@`, and their expressions."""


_FULL_LISTS = 10
"""Lists of full length in an expression in which aliases repeat them."""

_NULL = tree.Literal("null", "null")


def parse_aliases(
    texts: Iterable[tuple[str, str]], limits: ExpressionLimits = DEFAULT_LIMITS
) -> Aliases:
    """The expressions of a request's aliases, from pairs of a name and a text.

    `limits` apply to each. Raises `Refusal` as `parse_expression` does, with the alias as target.
    """
    return {name: parse_expression(text, limits, f"@{name}") for name, text in texts}


def resolve(
    node: tree.Node, aliases: Aliases, limits: ExpressionLimits = DEFAULT_LIMITS
) -> tree.Node:
    """The tree of `node` with every alias replaced by its expression, or by null without one.

    The nodes of an alias have the position at which `node` refers to it. Raises `Refusal` (400),
    with an alias as target, for a cycle of aliases, and if the new tree would exceed `limits`; it
    is counted while it is built.
    """
    names = [each.name for each, _ in tree.walk(node) if isinstance(each, tree.Parameter)]
    return _Resolver(aliases, limits, names[0]).replaced(node) if names else node


class _Resolver:
    """Replaces the aliases of an expression, of which `name` is one."""

    def __init__(self, aliases: Aliases, limits: ExpressionLimits, name: str) -> None:
        self._aliases = aliases
        self._limits = limits
        self._name = name
        self._nodes = self._members = 0

    def replaced(
        self,
        node: tree.Node,
        level: int = 1,
        within: tuple[str, ...] = (),
        position: int | None = None,
    ) -> tree.Node:
        """`node` without aliases; `within` are those that led to it, which is at `position`."""
        if isinstance(node, tree.Parameter):
            at = node.position if position is None else position
            return self._alias(node.name, level, within, at)
        literals = 0
        if isinstance(node, tree.In | tree.Collection):
            literals = sum(isinstance(each, tree.Literal) for each in node.items)
        # a literal in a list is a member, and not a node
        self._count(1 - literals, literals, level, within)

        def changed(value: object) -> object:
            if isinstance(value, tree.Syntax):
                return self.replaced(cast("tree.Node", value), level + 1, within, position)
            return tuple([changed(each) for each in value]) if isinstance(value, tuple) else value

        changes = {name: changed(getattr(node, name)) for name in node.__struct_fields__}
        if position is not None:
            changes["position"] = position
        return msgspec.structs.replace(node, **changes)

    def _alias(self, name: str, level: int, within: tuple[str, ...], position: int) -> tree.Node:
        alias = shown_alias(name)
        if name in within:
            around = " -> ".join(f"@{each[:40]}" for each in (*within[within.index(name) :], name))
            raise rows.ALIAS_CYCLE(alias, alias=alias, cycle=around)
        if len(within) >= self._limits.depth:
            raise rows.ALIAS_TOO_DEEP(alias, alias=alias, limit=self._limits.depth)
        node = self._aliases.get(name, _NULL)
        return self.replaced(node, level, (*within, name), position)

    def _count(self, nodes: int, members: int, level: int, within: tuple[str, ...]) -> None:
        self._nodes += nodes
        self._members += members
        limits, most = self._limits, self._limits.in_list * _FULL_LISTS
        if self._nodes > limits.nodes or self._members > most or level > limits.height:
            alias = shown_alias(within[0] if within else self._name)
            raise rows.ALIAS_TOO_LARGE(
                alias, alias=alias, nodes=limits.nodes, members=most, levels=limits.height
            )


def shown_alias(name: str) -> str:
    """The name of an alias in messages."""
    return f"@{name[:60]}"
