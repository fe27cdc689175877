"""Parameter aliases (OData URL Conventions 4.01, 5.3): `$filter=number eq @n&@n='10000'`."""

from collections.abc import Iterable, Mapping

import msgspec

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.request.expression import tree
from comptoir.request.expression.parser import DEFAULT_LIMITS, ExpressionLimits, parse_expression

Aliases = Mapping[str, tree.Node]
"""Names without the `@`, and their expressions."""


class _Extent(msgspec.Struct, frozen=True):
    """The size of a tree after all aliases in it are replaced.

    `nodes` counts as the limit of the same name does, `members` the literals in lists, and
    `height` the nodes from the root to the deepest leaf.
    """

    nodes: int
    members: int
    height: int


_NODE = _Extent(1, 0, 1)
_MEMBER = _Extent(0, 1, 1)
_FULL_LISTS = 10
"""Lists of full length in an expression in which aliases repeat them."""


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
    is measured before it is built.
    """
    if not any(isinstance(each, tree.Parameter) for each, _ in tree.walk(node)):
        return node
    _Measure(aliases, limits).extent(node, ())
    return _replaced(node, aliases)


class _Measure:
    def __init__(self, aliases: Aliases, limits: ExpressionLimits) -> None:
        self._aliases = aliases
        self._limits = limits
        self._measured: dict[str, _Extent] = {}

    def extent(self, node: tree.Node, within: tuple[str, ...]) -> _Extent:
        """The extent of `node`; `within` are the aliases that led to it, in their order."""
        nodes = members = height = 0
        in_lists: set[int] = set()
        for each, level in tree.walk(node):
            part = _MEMBER if id(each) in in_lists else _NODE
            if isinstance(each, tree.Parameter):
                part = self._alias(each.name, within)
            elif isinstance(each, tree.In | tree.Collection):
                in_lists.update(id(item) for item in each.items if isinstance(item, tree.Literal))
            nodes += part.nodes
            members += part.members
            height = max(height, level - 1 + part.height)
            if self._exceeds(_Extent(nodes, members, height)):
                raise self._too_large(within[0] if within else _first(node))
        return _Extent(nodes, members, height)

    def _exceeds(self, extent: _Extent) -> bool:
        limits = self._limits
        return (
            extent.nodes > limits.nodes
            or extent.members > limits.in_list * _FULL_LISTS
            or extent.height > limits.height
        )

    def _too_large(self, name: str) -> Refusal:
        limits, alias = self._limits, shown_alias(name)
        return rows.ALIAS_TOO_LARGE(
            alias,
            alias=alias,
            nodes=limits.nodes,
            members=limits.in_list * _FULL_LISTS,
            levels=limits.height,
        )

    def _alias(self, name: str, within: tuple[str, ...]) -> _Extent:
        extent = self._measured.get(name)
        if extent is not None:
            return extent
        alias = shown_alias(name)
        if name in within:
            around = " -> ".join(f"@{each[:40]}" for each in (*within[within.index(name) :], name))
            raise rows.ALIAS_CYCLE(alias, alias=alias, cycle=around)
        if len(within) >= self._limits.depth:
            raise rows.ALIAS_TOO_DEEP(alias, alias=alias, limit=self._limits.depth)
        node = self._aliases.get(name)
        extent = _NODE if node is None else self.extent(node, (*within, name))
        self._measured[name] = extent
        return extent


def _first(node: tree.Node) -> str:
    return next(each.name for each, _ in tree.walk(node) if isinstance(each, tree.Parameter))


def _replaced(node: tree.Node, aliases: Aliases, position: int | None = None) -> tree.Node:
    """`node` with its aliases replaced, and at a `position`; `_Measure` has checked its height."""
    if isinstance(node, tree.Parameter):
        at = node.position if position is None else position
        return _replaced(_value(node, aliases), aliases, at)
    rest = iter([_replaced(each, aliases, position) for each in tree.children(node)])

    def replaced(value: object) -> object:
        if isinstance(value, tree.Syntax):
            return next(rest)
        return tuple([replaced(each) for each in value]) if isinstance(value, tuple) else value

    changes = {name: replaced(getattr(node, name)) for name in node.__struct_fields__}
    if position is not None:
        changes["position"] = position
    return msgspec.structs.replace(node, **changes)


def _value(alias: tree.Parameter, aliases: Aliases) -> tree.Node:
    """The expression of an alias, which may be that of another alias."""
    found: tree.Node | None = alias
    while isinstance(found, tree.Parameter):
        found = aliases.get(found.name)
    return tree.Literal("null", "null", alias.position) if found is None else found


def shown_alias(name: str) -> str:
    """The name of an alias in messages."""
    return f"@{name[:60]}"
