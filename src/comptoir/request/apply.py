"""`$apply` (OData Extension for Data Aggregation 4.0, section 3): transformations in order."""

import re
from collections.abc import Iterable
from typing import ClassVar, TypeAlias

from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.errors.refusal import Fact, Refusal, RefusalRow
from comptoir.request.expression.parser import DEFAULT_LIMITS, ExpressionLimits, ExpressionParser
from comptoir.request.expression.tree import ComputeItem, Node, OrderItem, Path, Syntax
from comptoir.request.headers import lowered
from comptoir.request.options import whole_number
from comptoir.request.search import SearchNode, SearchReader

APPLY = "$apply"

_METHODS = ("sum", "min", "max", "average", "countdistinct")
_UNSUPPORTED = frozenset({
    "addnested", "ancestors", "bottomcount", "bottompercent", "bottomsum", "concat", "descendants",
    "expand", "join", "nest", "outerjoin", "topcount", "toppercent", "topsum", "traverse",
})  # fmt: skip
_KNOWN = ("filter", "compute", "orderby", "aggregate", "groupby", "search", "top", "skip")
_UNSUPPORTED_GROUPS = frozenset({"rollup", "rolluprecursive"})

_NAME = r"[^\W\d]\w*"
_WORD = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_PATH = re.compile(rf"{_NAME}(?:\.{_NAME})*(?:/{_NAME}(?:\.{_NAME})*)*")
_COUNT = re.compile(r"\$(?ai:count)(?!\w)")
_WITH = re.compile(rf"[ \t]+(?ai:with)[ \t]+({_NAME}(?:\.{_NAME})*)")
_FROM = re.compile(r"[ \t]+(?ai:from)[ \t]")
_DIGITS = re.compile(r"[^),;/]*")
_EXAMPLE = "groupby((city),aggregate($count as customers))"
_AGGREGATE = "aggregate(quantity with sum as total,$count as prices)"


class Aggregate(Syntax, frozen=True):
    """One aggregated value of an expression; without an expression, the number of records.

    `position` is the offset of the alias.
    """

    expression: Node | None
    method: str
    alias: str
    position: int = 0


class FilterBy(Syntax, frozen=True):
    """`filter(…)`: the records that fulfil a condition."""

    name: ClassVar = "filter"
    condition: Node
    position: int = 0


class SearchFor(Syntax, frozen=True):
    """`search(…)`: the records that match a search."""

    name: ClassVar = "search"
    search: SearchNode
    position: int = 0


class AggregateInto(Syntax, frozen=True):
    """`aggregate(…)`: one record with aggregated values, each with its own alias."""

    name: ClassVar = "aggregate"
    items: tuple[Aggregate, ...]
    position: int = 0


class GroupBy(Syntax, frozen=True):
    """`groupby((…),…)`: transformations of each group of records with equal `paths`."""

    name: ClassVar = "groupby"
    paths: tuple[Path, ...]
    transformations: tuple["Transformation", ...]
    position: int = 0


class ComputeAlso(Syntax, frozen=True):
    """`compute(…)`: the records with additional computed properties."""

    name: ClassVar = "compute"
    items: tuple[ComputeItem, ...]
    position: int = 0


class OrderBy(Syntax, frozen=True):
    """`orderby(…)`: the records sorted by the items."""

    name: ClassVar = "orderby"
    items: tuple[OrderItem, ...]
    position: int = 0


class TopOrSkip(Syntax, frozen=True):
    """`top(…)` or `skip(…)`: the first `count` records, or those after them."""

    name: str
    count: int
    position: int = 0


class Identity(Syntax, frozen=True):
    """`identity`: all records, unchanged."""

    name: ClassVar = "identity"
    position: int = 0


Transformation: TypeAlias = (
    FilterBy | GroupBy | AggregateInto | ComputeAlso | SearchFor | OrderBy | TopOrSkip | Identity
)
TRANSFORMATIONS = (
    "filter", "groupby", "aggregate", "compute", "search", "orderby", "top", "skip", "identity",
)  # fmt: skip
"""The names of the transformations."""


def parse_apply(text: str, limits: ExpressionLimits = DEFAULT_LIMITS) -> tuple[Transformation, ...]:
    """The transformations of a percent-decoded `$apply`, at least one.

    `limits` apply to all expressions together, and to the nesting of groups. Raises `Refusal` with
    `$apply` as its target: 400 for an error at a place, 501 for unsupported parts of the extension
    (`concat`, `rollup`, `topcount`, custom aggregates and the like).
    """
    reader = _ApplyReader(text, limits)
    if reader.at_end():
        raise reader.empty(_EXAMPLE)
    transformations = reader.sequence(0)
    if not reader.at_end():
        raise reader.unexpected(reader.position, "'/' and another transformation", _EXAMPLE)
    return transformations


class _ApplyReader(ExpressionParser):
    """Reads transformations, which count towards a limit of their own."""

    __slots__ = ("_parts",)

    def __init__(self, text: str, limits: ExpressionLimits) -> None:
        super().__init__(text, limits, APPLY)
        self._parts = 0

    def sequence(self, depth: int) -> tuple[Transformation, ...]:
        """The transformations at `position`, joined by `/`, inside `depth` groups."""
        found: list[Transformation] = []
        while True:
            found.append(self._transformation(depth))
            if not self.text.startswith("/", self.position):
                return tuple(found)
            self.position += 1

    def _transformation(self, depth: int) -> Transformation:
        start = self.position
        word = _WORD.match(self.text, start)
        if word is None:
            raise self.unexpected(start, "a transformation", _EXAMPLE)
        self._count_part(start)
        name = lowered(word[0])
        if "." in name or name in _UNSUPPORTED:
            raise self.unsupported(f"The transformation {quoted(word[0])}", start)
        self.position = opened = word.end()
        if name == "identity":
            return Identity(start)
        if name not in _KNOWN:
            raise self.refuse(rows.UNKNOWN_TRANSFORMATION, start, known=_KNOWN, name=word[0])
        self._open_bracket("an argument in parentheses")
        transformation = self._with_argument(name, start, depth)
        self._close_bracket("')'", rows.OPEN_ARGUMENT, opened=opened + 1)
        return transformation

    def _with_argument(self, name: str, start: int, depth: int) -> Transformation:
        """The transformation whose argument is at `position`."""
        transformation: Transformation
        match name:
            case "filter":
                transformation = FilterBy(self.expression(), start)
            case "compute":
                transformation = ComputeAlso(self.compute_items(), start)
            case "orderby":
                transformation = OrderBy(self.order_items(), start)
            case "aggregate":
                transformation = AggregateInto(self._aggregates(), start)
            case "groupby":
                transformation = self._group(start, depth)
            case "search":
                reader = SearchReader(self.text, self._limits, self.option, self.position)
                transformation = SearchFor(reader.search(), start)
                self.position = reader.position
            case _:
                transformation = TopOrSkip(name, self._number(name), start)
        return transformation

    def _aggregates(self) -> tuple[Aggregate, ...]:
        items: dict[str, Aggregate] = {}
        while True:
            item = self._aggregate(items)
            items[item.alias] = item
            if not self.comma():
                return tuple(items.values())

    def _aggregate(self, taken: Iterable[str]) -> Aggregate:
        start = self.position
        self._count_part(start)
        count = _COUNT.match(self.text, start)
        if count is not None:
            self.position = count.end()
            self._refuse_from()
            return self._aliased(None, "count", taken)
        expression = self.expression()
        with_method = _WITH.match(self.text, self.position)
        if with_method is None:
            raise self._no_method(expression)
        name, at = with_method[1], with_method.start(1)
        method = name.lower()
        if method not in _METHODS:
            if "." in name:
                raise self.unsupported(f"The custom method {quoted(name)}", at)
            methods = ", ".join(_METHODS)
            raise self.refuse(rows.UNKNOWN_METHOD, at, known=_METHODS, name=name, methods=methods)
        self.position = with_method.end()
        self._refuse_from()
        return self._aliased(expression, method, taken)

    def _aliased(self, expression: Node | None, method: str, taken: Iterable[str]) -> Aggregate:
        alias = self.alias(taken, _AGGREGATE)
        return Aggregate(expression, method, alias, self.position - len(alias))

    def _no_method(self, expression: Node) -> Refusal:
        """The refusal of an expression that is not followed by a method."""
        self._refuse_from()
        if isinstance(expression, Path):
            if expression.segments[-1] == "$count":
                return self.unsupported("$count after a path", expression.position)
            if not self.text.startswith(" ", self.position):
                name = quoted("/".join(expression.segments))
                return self.unsupported(
                    f"The custom aggregate {name} (without ' with ' and a method)",
                    expression.position,
                )
        return self.unexpected(self.position, "' with ' and a method", _AGGREGATE)

    def _refuse_from(self) -> None:
        found = _FROM.match(self.text, self.position)
        if found is not None:
            raise self.unsupported("'from'", found.start() + 1)

    def _group(self, start: int, depth: int) -> GroupBy:
        limit = self._limits.depth
        if depth >= limit:
            raise self.refuse(rows.TOO_DEEP, start, limit=limit)
        self._open_bracket("the grouping properties in parentheses")
        paths = [self._grouping()]
        while self.comma():
            paths.append(self._grouping())
        self._close_bracket("',' or ')'", rows.UNEXPECTED, example=_EXAMPLE)
        transformations = self.sequence(depth + 1) if self.comma() else ()
        return GroupBy(tuple(paths), transformations, start)

    def _grouping(self) -> Path:
        start = self.position
        self._count_part(start)
        found = _PATH.match(self.text, start)
        if found is None:
            raise self.unexpected(start, "a property to group by", _EXAMPLE)
        self.position = found.end()
        if self.text.startswith("(", found.end()):
            if found[0].lower() in _UNSUPPORTED_GROUPS:
                raise self.unsupported(quoted(found[0]), start)
            raise self.misplaced(rows.COMPUTED_GROUP, self.position, "',' or ')'")
        return Path(tuple(found[0].split("/")), start)

    def _number(self, name: str) -> int:
        start = self.position
        found = _DIGITS.match(self.text, start)
        text = "" if found is None else found[0]
        self.position = start + len(text)
        return whole_number(name, text, self.option, start)

    def _open_bracket(self, expected: str) -> None:
        """Step over an opening bracket and the blanks after it."""
        if not self.text.startswith("(", self.position):
            raise self.unexpected(self.position, expected, _EXAMPLE)
        self.position += 1
        self.skip_blanks()

    def _close_bracket(self, expected: str, row: RefusalRow, **facts: Fact) -> None:
        """Step over blanks and a closing bracket."""
        if not self.text.startswith(")", self.skip_blanks()):
            raise self.misplaced(row, self.position, expected, **facts)
        self.position += 1

    def _count_part(self, position: int) -> None:
        self._parts += 1
        if self._parts > self._limits.nodes:
            raise self.refuse(rows.TOO_MANY_NODES, position, limit=self._limits.nodes)
