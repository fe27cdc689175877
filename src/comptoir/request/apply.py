"""`$apply` (OData Extension for Data Aggregation 4.0, section 3): transformations in order."""

import re
from collections.abc import Iterable
from typing import Literal as OneOf
from typing import TypeAlias

from comptoir.errors import Refusal
from comptoir.request.compute import ComputeItem, compute_items, print_compute, read_alias
from comptoir.request.expression import (
    DEFAULT_LIMITS,
    ExpressionLimits,
    ExpressionParser,
    Node,
    OrderItem,
    Path,
    Syntax,
    faults,
    order_items,
    print_expression,
    print_orderby,
)
from comptoir.request.expression.lexer import DELIMITER, after_blanks
from comptoir.request.numbers import whole_number
from comptoir.request.search import SearchNode, SearchReader, print_search
from comptoir.request.words import lowered

APPLY = "$apply"

AggregateMethod: TypeAlias = OneOf["sum", "min", "max", "average", "countdistinct", "count"]

_METHODS: dict[str, AggregateMethod] = {
    "sum": "sum",
    "min": "min",
    "max": "max",
    "average": "average",
    "countdistinct": "countdistinct",
}
_UNSUPPORTED = frozenset(
    {
        "addnested",
        "ancestors",
        "bottomcount",
        "bottompercent",
        "bottomsum",
        "concat",
        "descendants",
        "expand",
        "join",
        "nest",
        "outerjoin",
        "topcount",
        "toppercent",
        "topsum",
        "traverse",
    }
)
_KNOWN = frozenset(
    {"filter", "compute", "orderby", "aggregate", "groupby", "search", "top", "skip"}
)
_UNSUPPORTED_GROUPS = frozenset({"rollup", "rolluprecursive"})

_NAME = r"[^\W\d]\w*"
_WORD = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_PATH = re.compile(rf"{_NAME}(?:\.{_NAME})*(?:/{_NAME}(?:\.{_NAME})*)*")
_COUNT = re.compile(r"\$(?ai:count)(?!\w)")
_WITH = re.compile(rf"[ \t]+(?ai:with)[ \t]+({_NAME}(?:\.{_NAME})*)")
_FROM = re.compile(r"[ \t]+(?ai:from)[ \t]")
_DIGITS = re.compile(r"[^),;/]*")
_EXAMPLE = "Write for example `groupby((city),aggregate($count as customers))`."
_AGGREGATE = "Write for example `aggregate(quantity with sum as total,$count as prices)`."


class Aggregate(Syntax, frozen=True):
    """One aggregated value: of an expression over the records, or their `count` without one."""

    expression: Node | None
    method: AggregateMethod
    alias: str
    position: int = 0


class FilterBy(Syntax, frozen=True):
    """`filter(…)`: the records for which a condition holds."""

    condition: Node
    position: int = 0


class SearchFor(Syntax, frozen=True):
    """`search(…)`: the records in which something is found."""

    search: SearchNode
    position: int = 0


class AggregateInto(Syntax, frozen=True):
    """`aggregate(…)`: one record with the aggregated values of all; no alias comes twice."""

    items: tuple[Aggregate, ...]
    position: int = 0


class GroupBy(Syntax, frozen=True):
    """`groupby((…),…)`: what becomes of each group of records that are alike in the paths."""

    paths: tuple[Path, ...]
    transformations: tuple["Transformation", ...]
    position: int = 0


class ComputeAlso(Syntax, frozen=True):
    """`compute(…)`: the records with computed properties beside their own."""

    items: tuple[ComputeItem, ...]
    position: int = 0


class OrderBy(Syntax, frozen=True):
    """`orderby(…)`: the records in another order."""

    items: tuple[OrderItem, ...]
    position: int = 0


class Top(Syntax, frozen=True):
    """`top(…)`: so many first records."""

    count: int
    position: int = 0


class Skip(Syntax, frozen=True):
    """`skip(…)`: the records behind so many first ones."""

    count: int
    position: int = 0


class Identity(Syntax, frozen=True):
    """`identity`: the records as they are."""

    position: int = 0


Transformation: TypeAlias = (
    FilterBy | SearchFor | AggregateInto | GroupBy | ComputeAlso | OrderBy | Top | Skip | Identity
)


def parse_apply(
    text: str, limits: ExpressionLimits = DEFAULT_LIMITS, option: str = APPLY
) -> tuple[Transformation, ...]:
    """The transformations of `text`, which is percent-decoded already, at least one.

    `limits` hold for all expressions together, and bound how deep groups nest. Raises `Refusal`
    with `option` as its target: 400 with the place, 501 for what the extension has and this
    service does not (`concat`, `rollup`, `topcount`, custom aggregates and the like).
    """
    if not text.strip(" \t"):
        raise faults.misused(0, f"there is no transformation. {_EXAMPLE}", option)
    reader = _Reader(text, limits, option)
    transformations = reader.sequence(0)
    reader.finish()
    return transformations


class _Reader:
    def __init__(self, text: str, limits: ExpressionLimits, option: str) -> None:
        self._text = text
        self._limits = limits
        self._option = option
        self._parser = ExpressionParser(text, limits, option)
        self._nodes = 0

    def sequence(self, depth: int) -> tuple[Transformation, ...]:
        """The transformations at the position, inside so many groups, joined by `/`."""
        found: list[Transformation] = []
        while True:
            found.append(self._transformation(depth))
            if not self._text.startswith("/", self._parser.position):
                return tuple(found)
            self._parser.position += 1

    def finish(self) -> None:
        """Raise unless nothing but blanks follows."""
        if after_blanks(self._text, self._parser.position) != len(self._text):
            raise self._misplaced("`/` and another transformation", _EXAMPLE)

    def _transformation(self, depth: int) -> Transformation:
        start = self._parser.position
        word = _WORD.match(self._text, start)
        if word is None:
            raise self._misplaced("a transformation", _EXAMPLE)
        self._count(start)
        name = lowered(word[0])
        if "." in name or name in _UNSUPPORTED:
            construct = f"the transformation `{word[0][:100]}`"
            raise faults.not_supported(construct, start, self._option)
        self._parser.position = word.end()
        if name == "identity":
            return Identity(start)
        opened = word.end()
        if name not in _KNOWN:
            message = f"`{word[0][:60]}` is no transformation. {_EXAMPLE}"
            raise faults.misused(start, message, self._option)
        self._step("(", "its argument in parentheses")
        transformation = self._called(name, start, depth)
        self._step(")", f"the `)` of the `(` at column {opened + 1}")
        return transformation

    def _called(self, name: str, start: int, depth: int) -> Transformation:
        """The transformation whose argument is at the position."""
        parser = self._parser
        transformation: Transformation
        match name:
            case "filter":
                transformation = FilterBy(parser.expression(), start)
            case "compute":
                transformation = ComputeAlso(compute_items(parser, self._option), start)
            case "orderby":
                transformation = OrderBy(order_items(parser), start)
            case "aggregate":
                transformation = AggregateInto(self._aggregates(), start)
            case "groupby":
                transformation = self._group(start, depth)
            case "search":
                reader = SearchReader(self._text, parser.position, self._limits, self._option)
                transformation = SearchFor(reader.search(), start)
                parser.position = reader.position
            case "top":
                transformation = Top(self._number("top"), start)
            case _:
                transformation = Skip(self._number("skip"), start)
        return transformation

    def _aggregates(self) -> tuple[Aggregate, ...]:
        items: dict[str, Aggregate] = {}
        while True:
            item = self._aggregate(items)
            items[item.alias] = item
            if not self._comma():
                return tuple(items.values())

    def _aggregate(self, taken: Iterable[str]) -> Aggregate:
        parser, start = self._parser, self._parser.position
        self._count(start)
        count = _COUNT.match(self._text, start)
        if count is not None:
            parser.position = count.end()
            self._refuse_from()
            return Aggregate(None, "count", self._alias(taken), start)
        expression = parser.expression()
        with_method = _WITH.match(self._text, parser.position)
        if with_method is None:
            raise self._no_method(expression)
        method = _METHODS.get(with_method[1].lower())
        if method is None:
            message = f"`{with_method[1][:60]}` is no method. It is one of {', '.join(_METHODS)}."
            if "." in with_method[1]:
                construct = f"the custom method `{with_method[1][:100]}`"
                raise faults.not_supported(construct, with_method.start(1), self._option)
            raise faults.misused(with_method.start(1), message, self._option)
        parser.position = with_method.end()
        self._refuse_from()
        return Aggregate(expression, method, self._alias(taken), start)

    def _no_method(self, expression: Node) -> Refusal:
        """What to say to an expression that is not aggregated by a method."""
        self._refuse_from()
        if isinstance(expression, Path):
            end = expression.segments[-1]
            where = expression.position
            if end == "$count":
                return faults.not_supported("counting behind a path", where, self._option)
            if not self._text.startswith(" ", self._parser.position):
                name = "/".join(expression.segments)[:100]
                construct = f"the custom aggregate `{name}`, without ` with ` and a method"
                return faults.not_supported(construct, where, self._option)
        return self._misplaced("` with ` and a method", _AGGREGATE)

    def _refuse_from(self) -> None:
        found = _FROM.match(self._text, self._parser.position)
        if found is not None:
            raise faults.not_supported("`from`", found.start() + 1, self._option)

    def _alias(self, taken: Iterable[str]) -> str:
        return read_alias(self._parser, taken, self._option, _AGGREGATE)

    def _group(self, start: int, depth: int) -> GroupBy:
        if depth >= self._limits.depth:
            message = f"groups are nested more than {self._limits.depth} deep. Nest them less."
            raise faults.misused(start, message, self._option)
        self._step("(", "the grouping properties in parentheses")
        paths: list[Path] = []
        while True:
            paths.append(self._grouping())
            if not self._comma():
                break
        self._step(")", "`,` or `)`")
        transformations: tuple[Transformation, ...] = ()
        if self._comma():
            transformations = self.sequence(depth + 1)
        return GroupBy(tuple(paths), transformations, start)

    def _grouping(self) -> Path:
        start = self._parser.position
        self._count(start)
        found = _PATH.match(self._text, start)
        if found is None:
            raise self._misplaced("a property to group by", _EXAMPLE)
        self._parser.position = found.end()
        if self._text.startswith("(", found.end()):
            if found[0].lower() in _UNSUPPORTED_GROUPS:
                raise faults.not_supported(f"`{found[0]}`", start, self._option)
            raise self._misplaced("`,` or `)`", "Compute a property first, then group by it.")
        return Path(tuple(found[0].split("/")), start)

    def _number(self, name: str) -> int:
        start = self._parser.position
        found = _DIGITS.match(self._text, start)
        text = "" if found is None else found[0]
        self._parser.position = start + len(text)
        place = f"{self._option}: at column {start + 1}, the argument of {name}"
        return whole_number(place, text, self._option)

    def _comma(self) -> bool:
        """Step over the comma at the position; whether there is one."""
        comma = DELIMITER.match(self._text, self._parser.position)
        if comma is None or comma[1][0] != ",":
            return False
        self._parser.position = comma.end()
        return True

    def _step(self, mark: str, expected: str) -> None:
        """Step over a bracket, and over the blanks inside it."""
        at = self._parser.position
        if mark == ")":
            at = after_blanks(self._text, at)
        if not self._text.startswith(mark, at):
            raise self._misplaced(expected, _EXAMPLE)
        self._parser.position = at + 1 if mark == ")" else after_blanks(self._text, at + 1)

    def _count(self, position: int) -> None:
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise faults.too_many_nodes(position, self._limits.nodes, self._option)

    def _misplaced(self, expected: str, remedy: str) -> Refusal:
        return faults.misplaced(self._text, self._parser.position, expected, remedy, self._option)


def print_apply(transformations: Iterable[Transformation]) -> str:
    """The canonical text of `transformations`, as `parse_apply` reads it."""
    return "/".join([_print(each) for each in transformations])


def _print(node: Transformation) -> str:
    match node:
        case FilterBy():
            text = f"filter({print_expression(node.condition)})"
        case SearchFor():
            text = f"search({print_search(node.search)})"
        case AggregateInto():
            text = f"aggregate({','.join([_print_aggregate(each) for each in node.items])})"
        case GroupBy():
            paths = ",".join([print_expression(path) for path in node.paths])
            inner = print_apply(node.transformations)
            text = f"groupby(({paths}),{inner})" if inner else f"groupby(({paths}))"
        case ComputeAlso():
            text = f"compute({print_compute(node.items)})"
        case OrderBy():
            text = f"orderby({print_orderby(node.items)})"
        case Top():
            text = f"top({node.count})"
        case Skip():
            text = f"skip({node.count})"
        case Identity():
            text = "identity"
    return text


def _print_aggregate(item: Aggregate) -> str:
    if item.expression is None:
        return f"$count as {item.alias}"
    return f"{print_expression(item.expression)} with {item.method} as {item.alias}"
