"""Parameter aliases (OData URL Conventions 4.01, 5.3): `$filter=number eq @n&@n='10000'`."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from comptoir.errors import INVALID_URL, Refusal
from comptoir.request.expression import (
    DEFAULT_LIMITS,
    Binary,
    Call,
    Case,
    Collection,
    ExpressionLimits,
    In,
    InCollection,
    Lambda,
    Literal,
    Logical,
    Node,
    Parameter,
    Unary,
    children,
    parse_expression,
    walk,
)
from comptoir.request.path import KeyPart

Aliases = Mapping[str, Node]
"""Names without the `@` to the expressions that they stand for."""


class _Extent(msgspec.Struct, frozen=True):
    """How large a tree is with all aliases in it replaced.

    `nodes` counts as the limit of the same name does, `members` the literals in lists, which that
    leaves out, and `height` the nodes from the root to the deepest leaf.
    """

    nodes: int
    members: int
    height: int


_NODE = _Extent(1, 0, 1)
_MEMBER = _Extent(0, 1, 1)
_FULL_LISTS = 10
"""How many lists of full length an expression may hold, when aliases repeat them."""


def parse_aliases(
    texts: Iterable[tuple[str, str]], limits: ExpressionLimits = DEFAULT_LIMITS
) -> Aliases:
    """The expressions of a request's aliases, given as pairs of a name and a text.

    `limits` hold for each. Raises `Refusal` as `parse_expression` does, with the alias as target.
    """
    return {name: parse_expression(text, limits, f"@{name}") for name, text in texts}


def resolve(node: Node, aliases: Aliases, limits: ExpressionLimits = DEFAULT_LIMITS) -> Node:
    """The tree of `node` with every alias replaced by what it stands for: null, if not given.

    Nodes keep the positions that they have in their own texts. Raises `Refusal` (400), with an
    alias as target, for aliases that stand for themselves, and when the tree with all of them
    replaced would exceed `limits`; it is measured before it is made.
    """
    if not any(isinstance(each, Parameter) for each, _ in walk(node)):
        return node
    _Measure(aliases, limits).extent(node, ())
    return _replaced(node, aliases)


def resolve_key(parts: Sequence[KeyPart], aliases: Aliases) -> tuple[KeyPart, ...]:
    """The parts of a key, with the literals for which aliases stand in their places.

    Raises `Refusal` (400) for an alias that is not given, or stands for anything but a value.
    """
    return tuple([_key_part(part, aliases) for part in parts])


def _key_part(part: KeyPart, aliases: Aliases) -> KeyPart:
    if part.alias is None:
        return part
    node = resolve(Parameter(part.alias), aliases)
    if not isinstance(node, Literal) or node.kind == "null":
        given = "another expression" if part.alias in aliases else "not given"
        raise _refusal(part.alias, f"is {given}, but a key needs a value. Give it a literal.")
    return KeyPart(part.name, node.text, quoted=node.kind == "string")


class _Measure:
    def __init__(self, aliases: Aliases, limits: ExpressionLimits) -> None:
        self._aliases = aliases
        self._limits = limits
        self._known: dict[str, _Extent] = {}

    def extent(self, node: Node, within: tuple[str, ...]) -> _Extent:
        """The extent of `node`, which stands in the aliases `within`, each in the one before."""
        nodes = members = height = 0
        in_lists: set[int] = set()
        for each, level in walk(node):
            part = _MEMBER if id(each) in in_lists else _NODE
            if isinstance(each, Parameter):
                part = self._alias(each.name, within)
            elif isinstance(each, In | Collection):
                in_lists.update(id(item) for item in each.items if isinstance(item, Literal))
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
        limits = self._limits
        return _refusal(
            name,
            f"and those that it refers to make the expression larger than {limits.nodes} parts "
            f"and {limits.in_list * _FULL_LISTS} members of lists, or taller than "
            f"{limits.height}. Write less at once.",
        )

    def _alias(self, name: str, within: tuple[str, ...]) -> _Extent:
        known = self._known.get(name)
        if known is not None:
            return known
        if name in within:
            around = " -> ".join(f"@{each[:40]}" for each in (*within[within.index(name) :], name))
            raise _refusal(name, f"stands for itself: {around[:200]}. Break the circle.")
        if len(within) >= self._limits.depth:
            raise _refusal(
                name,
                f"is reached through more than {self._limits.depth} other aliases. Refer to it "
                "directly.",
            )
        node = self._aliases.get(name)
        known = _NODE if node is None else self.extent(node, (*within, name))
        self._known[name] = known
        return known


def _first(node: Node) -> str:
    return next(each.name for each, _ in walk(node) if isinstance(each, Parameter))


def _replaced(root: Node, aliases: Aliases) -> Node:
    """`root` with its aliases replaced, which `_Measure` has found to end; without recursion."""
    done: list[Node] = []
    meant: dict[str, Node] = {}
    pending = [(root, False)]
    while pending:
        node, is_below_done = pending.pop()
        below = children(node)
        if isinstance(node, Parameter):
            if node.name not in meant:
                meant[node.name] = _meant(node, aliases)
            pending.append((meant[node.name], False))
        elif is_below_done:
            parts = tuple(done[-len(below) :])
            del done[-len(below) :]
            done.append(_rebuilt(node, parts))
        elif below:
            pending.append((node, True))
            pending.extend([(child, False) for child in reversed(below)])
        else:
            done.append(node)
    return done[0]


def _meant(alias: Parameter, aliases: Aliases) -> Node:
    """What an alias stands for, perhaps by way of other aliases."""
    held: Node | None = alias
    while isinstance(held, Parameter):
        held = aliases.get(held.name)
    return Literal("null", "null", alias.position) if held is None else held


def _rebuilt(node: Node, parts: tuple[Node, ...]) -> Node:
    """`node` with other `children`, as many."""
    rebuilt: Node = node
    match node:
        case Binary():
            rebuilt = Binary(node.operator, parts[0], parts[1], node.position)
        case Logical():
            rebuilt = Logical(node.operator, parts, node.position)
        case Unary():
            rebuilt = Unary(node.operator, parts[0], node.position)
        case Call():
            rebuilt = Call(node.name, parts, node.position)
        case In():
            rebuilt = In(parts[0], parts[1:], node.position)
        case InCollection():
            rebuilt = InCollection(parts[0], parts[1], node.position)
        case Case():
            branches = zip(parts[::2], parts[1::2], strict=True)
            rebuilt = Case(tuple(branches), node.position)
        case Collection():
            rebuilt = Collection(parts, node.position)
        case Lambda(predicate=predicate) if predicate is not None:
            rebuilt = msgspec.structs.replace(node, predicate=parts[1])
    return rebuilt


def _refusal(name: str, message: str) -> Refusal:
    shown = f"@{name[:60]}"
    return Refusal(INVALID_URL, f"The parameter alias {shown} {message}", target=shown)
