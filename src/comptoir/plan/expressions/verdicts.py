"""The constructs of a filter that a dialect refuses or ignores."""

from collections.abc import Iterator

from comptoir.errors import Refusal, Situation
from comptoir.plan.expressions.operands import described
from comptoir.profiles.record import Dialect, Treatment
from comptoir.profiles.standard import ODATA
from comptoir.refusals import unsupported
from comptoir.request.expression.tree import (
    Call,
    In,
    InCollection,
    Lambda,
    Logical,
    Node,
    Path,
    children,
    walk,
)


def is_evaluated(node: Node, dialect: Dialect, option: str) -> bool:
    """Whether a dialect evaluates a filter; otherwise it ignores the filter.

    Raises `Refusal` (501) for what the dialect refuses in a filter that it does not ignore.
    """
    if dialect is ODATA:
        return True
    found = list(_treated(node, dialect))
    if any(treatment == "ignored" for _, treatment in found):
        return False
    for each, treatment in found:
        if treatment == "refused":
            raise _refusal(each, option)
    return True


def _treated(root: Node, dialect: Dialect) -> Iterator[tuple[Node, Treatment]]:
    """The constructs that dialects treat differently, each after those around it."""
    pending = [(root, False, False)]
    while pending:
        node, in_or, in_call = pending.pop()
        match node:
            case In() | InCollection():
                yield node, dialect.lists
            case Lambda():
                yield node, dialect.lambdas
            case Call():
                if in_call:
                    yield node, dialect.nested_calls
                in_call = True
            case Logical(operator="or"):
                # an inner one has no property that the outer one does not have
                if not in_or and len(_properties(node)) > 1:
                    yield node, dialect.alternatives
                in_or = True
        pending.extend((each, in_or, in_call) for each in children(node))


def _properties(root: Node) -> set[tuple[str, ...]]:
    """The properties in an expression, as the segments of their paths."""
    paths = [each.segments for each, _ in walk(root) if isinstance(each, Path)]
    return {path[1:] if path[0] == "$it" else path for path in paths}


def _refusal(node: Node, option: str) -> Refusal:
    if isinstance(node, Logical):
        refusal = unsupported("The operator or with several properties", option, node.position)
        return refusal.in_situation(Situation.ALTERNATIVES)
    construct = described(node)
    if isinstance(node, Call):
        construct = f"{construct} as an argument of a function"
    return unsupported(construct, option, node.position).in_situation(Situation.UNSUPPORTED_FILTER)
