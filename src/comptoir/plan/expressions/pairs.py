"""Filter-only properties in numbered pairs, as operation 9 has them."""

import re

from comptoir.edm.model import PairFilter
from comptoir.errors import Refusal
from comptoir.plan.bound import Carries, Condition
from comptoir.plan.expressions.slots import Slots
from comptoir.plan.faults import misused
from comptoir.request.expression.tree import Binary, Literal, Logical, Node, Path, walk


class PairBinder:
    """Takes the pairs out of a filter's top-level chain of `and`, and binds them."""

    def __init__(self, pairs: PairFilter, option: str) -> None:
        self._pairs = pairs
        self._option = option
        self._form = re.compile(f"({pairs.name}|{pairs.value})(\\d+)", re.ASCII)
        self._held: dict[str, Literal] = {}

    def split(self, node: Node) -> list[Node]:
        """Keep the pairs of a filter and give the conditions that are none.

        Raises `Refusal` (400) for a pair that stands elsewhere than in the chain of `and`, is
        compared otherwise than by `eq` with a text, or is numbered twice or out of range.
        """
        others: list[Node] = []
        pending = [node]
        while pending:
            current = pending.pop()
            if isinstance(current, Logical) and current.operator == "and":
                pending.extend(reversed(current.operands))
            elif not self._take(current):
                others.append(current)
        for other in others:
            self._refuse_inside(other)
        return others

    def bind(self, slots: Slots) -> list[Condition]:
        """The conditions that the kept pairs mean."""
        pairs = self._pairs
        conditions: list[Condition] = []
        for name, literal in self._held.items():
            number = name.removeprefix(pairs.name)
            if name == f"{pairs.value}{number}" or not number.isdigit():
                continue
            value = self._held.get(f"{pairs.value}{number}")
            name_slot = slots.add(literal.text)
            conditions.append(Carries(name_slot, None if value is None else slots.add(value.text)))
        for name, literal in self._held.items():
            number = name.removeprefix(pairs.value)
            if number.isdigit() and f"{pairs.name}{number}" not in self._held:
                raise misused(
                    self._option,
                    literal.position,
                    f"{name} has no {pairs.name}{number} beside it. Name the attribute.",
                )
        return conditions

    def _take(self, node: Node) -> bool:
        if not isinstance(node, Binary):
            return False
        sides = (node.left, node.right)
        path = next((each for each in sides if isinstance(each, Path)), None)
        literal = next((each for each in sides if isinstance(each, Literal)), None)
        if path is None or not self._is_pair(path):
            return False
        name = path.segments[0]
        if node.operator != "eq" or literal is None or literal.type != "string":
            raise self._only_eq(path)
        if name in self._held:
            raise misused(
                self._option, path.position, f"{name} is given twice. Give another number."
            )
        self._held[name] = literal
        return True

    def _is_pair(self, path: Path) -> bool:
        match = self._form.fullmatch(path.segments[0])
        if match is None or len(path.segments) > 1:
            return False
        digits = match[2]
        if digits.startswith("0") or len(digits) > 3 or int(digits) > self._pairs.count:
            raise misused(
                self._option,
                path.position,
                f"{path.segments[0][:60]} is numbered outside 1 to {self._pairs.count}.",
            )
        return True

    def _refuse_inside(self, node: Node) -> None:
        for each, _ in walk(node):
            if isinstance(each, Path) and self._is_pair(each):
                raise self._only_eq(each)

    def _only_eq(self, path: Path) -> Refusal:
        name = path.segments[0]
        return misused(
            self._option,
            path.position,
            f"{name} takes eq and a text alone, joined by and: {name} eq '…'.",
        )
