"""Bound conditions to SQL.

Databases and SQLAlchemy's compiler recurse over expressions: SQLite's parser gives up at some
thirty levels of nesting, and at a thousand terms in a row. So a high expression is cut into
stages, each a common table expression that computes the subexpressions below the cut, and a long
chain is grouped.
"""

from collections.abc import Callable, Iterator
from typing import cast

from sqlalchemy import ColumnElement, and_, exists, false, not_, or_, true

from comptoir.edm.number import SCALE
from comptoir.plan.bound import (
    Carries,
    Comparison,
    Condition,
    Constant,
    Field,
    Function,
    Junction,
    Matches,
    Not,
    OneOf,
    Scaled,
    Slot,
    Value,
)
from comptoir.sql.functions import FunctionTable, SqlExpression
from comptoir.sql.prepared import constant, slot
from comptoir.sql.searches import matches
from comptoir.sql.source import Source, SqlValue
from comptoir.sql.tables import COMPANY_ID, Tables

STAGE_HEIGHT = 10
"""How high an expression may be before its subexpressions are cut off."""

GROUP = 100
"""How many terms of a chain stand in a row."""

Node = Condition | Value

_COMPARISONS: dict[str, Callable[[SqlValue, SqlValue], ColumnElement[bool]]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
}


def conditioned(
    condition: Condition, source: Source, tables: Tables, functions: FunctionTable
) -> tuple[Source, ColumnElement[bool]]:
    """The SQL of a condition, and the source that it stands over: the given one or stages above."""
    builder = _Builder(source, tables, functions)
    heights: dict[int, tuple[int, Node]] = {}
    top = _measure(condition, heights)
    for number in range(1, (top - 1) // STAGE_HEIGHT + 1):
        cut = [node for height, node in heights.values() if height == number * STAGE_HEIGHT]
        builder.add_stage(f"stage_{number}", cut)
    return builder.source, builder.condition(condition)


def _children(node: Node) -> Iterator[Node]:
    if isinstance(node, Junction):
        yield from node.operands
    elif isinstance(node, Comparison):
        yield node.left
        yield node.right
    elif isinstance(node, Function):
        yield from node.arguments
    elif isinstance(node, Not | Scaled | OneOf):
        yield node.operand


def _measure(node: Node, heights: dict[int, tuple[int, Node]]) -> int:
    height = 1 + max((_measure(child, heights) for child in _children(node)), default=0)
    heights[id(node)] = (height, node)
    return height


class _Builder:
    def __init__(self, source: Source, tables: Tables, functions: FunctionTable) -> None:
        self.source = source
        self._tables = tables
        self._functions = functions
        self._computed: dict[int, SqlValue] = {}

    def add_stage(self, name: str, cut: list[Node]) -> None:
        """Compute these nodes, and what earlier stages computed, as columns of a stage."""
        kept = list(self._computed)
        values = [self._computed[each] for each in kept]
        values += [self._any(node) for node in cut]
        self.source, columns = self.source.stage(name, values)
        self._computed = dict(zip([*kept, *map(id, cut)], columns, strict=True))

    def _any(self, node: Node) -> SqlValue:
        if isinstance(node, Field | Slot | Scaled):
            return self.value(node)
        return cast("SqlValue", self.condition(node))

    def condition(self, node: Condition) -> ColumnElement[bool]:
        computed = self._computed.get(id(node))
        if computed is not None:
            return computed == constant(1)
        match node:
            case Junction():
                held = self._junction(node)
            case Comparison():
                compare = _COMPARISONS[node.operator]
                held = compare(self.value(node.left), self.value(node.right))
            case OneOf():
                listed = [slot(each.number) for each in node.slots]
                held = self.value(node.operand).in_(listed)
            case Not():
                held = not_(self.condition(node.operand))
            case Carries():
                held = self._carries(node)
            case Matches():
                held = matches(node, self.source, self._tables, self._functions)
            case Constant():
                held = true() if node.value else false()
            case Field():
                held = self.value(node) == constant(1)
            case Function():
                held = cast("ColumnElement[bool]", self._function(node))
        return held

    def value(self, node: Value) -> SqlValue:
        computed = self._computed.get(id(node))
        if computed is not None:
            return computed
        if isinstance(node, Field):
            return self.source.columns[node.name]
        if isinstance(node, Slot):
            return slot(node.number)
        if isinstance(node, Scaled):
            return self.value(node.operand) * constant(10**SCALE)
        return cast("SqlValue", self._function(node))

    def _function(self, node: Function) -> SqlExpression:
        arguments = [self.value(argument) for argument in node.arguments]
        return self._functions[node.name](*arguments)

    def _junction(self, node: Junction) -> ColumnElement[bool]:
        join = and_ if node.operator == "and" else or_
        terms = [self.condition(operand) for operand in node.operands]
        while len(terms) > GROUP:
            # "is true" keeps SQLAlchemy from flattening the groups into one chain again
            terms = [
                join(*terms[start : start + GROUP]).is_(true())
                for start in range(0, len(terms), GROUP)
            ]
        return join(*terms)

    def _carries(self, node: Carries) -> ColumnElement[bool]:
        pairs = self.source.entity_set.pair_filter
        if pairs is None:
            raise LookupError(f"{self.source.entity_set.name} declares no pairs to filter by")
        carrier = self._tables.records[pairs.carrier]
        other = carrier.table.alias()
        columns = {held: other.c[column.name] for held, column in carrier.columns.items()}
        holds = [
            other.c[COMPANY_ID] == self.source.company,
            columns[pairs.carrier_reference] == self.source.columns[pairs.reference],
            columns[pairs.carrier_name] == slot(node.name.number),
        ]
        if node.value is not None:
            holds.append(columns[pairs.carrier_value] == slot(node.value.number))
        return exists().where(and_(*holds))
