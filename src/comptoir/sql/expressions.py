"""The SQL of bound expressions, over records and the records related to them.

Databases and SQLAlchemy's compiler recurse over expressions: SQLite's parser fails when about a
hundred of its symbols are open. The deep parts of an expression are therefore computed as columns
of common table expressions, each of which may select from another.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from operator import eq, ge, gt, le, lt, ne
from typing import cast

import sqlalchemy as sa
from typing_extensions import TypeIs

from comptoir.edm.model import EntitySet
from comptoir.plan.expressions import nodes
from comptoir.plan.expressions.types import FunctionName
from comptoir.sql.dialects import Dialect
from comptoir.sql.dialects.functions import SqlValue
from comptoir.sql.prepared import BLANK, RowSelect, constant, constant_text, slot_of
from comptoir.sql.tables import COMPANY_ID, Tables, of_company
from comptoir.sql.text_index import SearchedSet

Selected = sa.ColumnElement[str | int] | sa.ColumnElement[int]
Name = tuple[int, str]
"""The number of a step, 0 for the records of the statement itself, and a property."""

Finish = Callable[[RowSelect], RowSelect]
"""Groups, sorts or limits a SELECT."""


class SelectScope:
    """A SELECT under construction: its FROM clauses, its conditions, and its columns by name.

    An expression may use the columns of the enclosing scope `parent` too.
    """

    def __init__(
        self,
        froms: Sequence[sa.FromClause],
        columns: dict[Name, SqlValue],
        conditions: Sequence[sa.ColumnElement[bool]] = (),
        parent: "SelectScope | None" = None,
    ) -> None:
        self.froms = list(froms)
        self.columns = columns
        self.conditions = list(conditions)
        self.parent = parent
        self.reads_texts = False
        """Whether a search compares the texts of the records one by one, without the text index."""

        self._ctes: list[sa.CTE] = []
        self._numbers: Iterator[int] = count() if parent is None else parent._numbers

    @property
    def cte_count(self) -> int:
        """The number of common table expressions (CTEs) that the scope selects from."""
        return len(self._ctes)

    def column(self, step: int, name: str) -> SqlValue:
        """Return a column of this scope or of an enclosing one."""
        scope: SelectScope | None = self
        while scope is not None:
            found = scope.columns.get((step, name))
            if found is not None:
                return found
            scope = scope.parent
        raise LookupError(f"no select scope has {name} of step {step}")

    def selecting(self, *values: Selected) -> RowSelect:
        """Build the SELECT of some values; it correlates with the enclosing scopes."""
        # With its name in the list, a CTE is compiled before those that select from it, not within
        # them. The CTEs of a nested scope are in a list of its own.
        nest_here = self.parent is not None
        return self._selecting(values).add_cte(*self._ctes, nest_here=nest_here)

    def _selecting(self, values: Sequence[Selected]) -> RowSelect:
        statement = sa.select(*values).select_from(*self.froms).where(*self.conditions)
        return statement if self.parent is None else statement.correlate_except(*self.froms)

    def project(self, columns: Mapping[Name, SqlValue], finish: Finish = lambda rows: rows) -> None:
        """Move the scope onto a CTE that has only these columns; `finish` adds its last clauses."""
        labels = {name: f"c{number}" for number, name in enumerate(columns)}
        values = [column.label(labels[name]) for name, column in columns.items()]
        cte = finish(self._selecting(values)).cte(f"cte_{next(self._numbers)}")
        self.froms, self.conditions = [cte], []
        self._ctes.append(cte)
        self.columns = {name: cte.c[label] for name, label in labels.items()}

    def extend(self, values: Mapping[Name, SqlValue]) -> None:
        """Move the scope onto a CTE that has further values as columns."""
        self.project({**self.columns, **values})


DEPTH = 50
"""The most SQL symbols that may be open at a time in an expression over the records themselves."""

_LEAST_DEPTH = 12

_OPEN_SYMBOLS: dict[type, int] = {
    nodes.Junction: 3,
    nodes.Comparison: 4,
    nodes.Not: 2,
    nodes.IsNull: 3,
    nodes.Function: 6,
    nodes.Choice: 8,
    nodes.OneOf: 6,
    nodes.Exists: 13,
    nodes.CountOf: 10,
    nodes.Related: 10,
}
"""The SQL symbols that a node leaves open around its parts; 1 for any other node."""

GROUP = 100
"""The most operands of a chain of `and` or `or` in a row."""

_NULL: SqlValue = sa.literal_column("NULL")

_COMPARISONS: Mapping[str, Callable[[SqlValue, SqlValue], sa.ColumnElement[bool]]] = {
    each.__name__: each for each in (eq, ne, lt, le, gt, ge)
}


@dataclass(frozen=True, eq=False, slots=True)
class Expressions:
    """Renders the expressions of a statement over a scope; their slots begin at `first_slot`."""

    tables: Tables
    dialect: Dialect
    scope: SelectScope
    entity_set: EntitySet | None
    first_slot: int = 0
    depth: int = DEPTH

    def restrict(self, node: nodes.Value, of: Name | None = None) -> None:
        """Add a condition to the scope.

        `of` is a column of the scope's records, for a condition that may have the same result for
        all of them: a planner could otherwise leave them out.
        """
        self.split_deep(node)
        condition = self._condition(node)
        if of is not None:
            guarded = self.call("tied_to_row", [self.scope.column(*of), condition])
            condition = cast("sa.ColumnElement[bool]", guarded)
        self.scope.conditions.append(condition)

    def split_deep(self, *values: nodes.Value) -> None:
        """Move the parts of expressions that are too deep into CTEs of the scope."""
        for cut in _Cuts(values, self.depth).by_cte:
            self.scope.extend({_computed(node): self.value(node) for node in cut})

    def call(
        self, name: FunctionName, arguments: Sequence[SqlValue | sa.ColumnElement[bool]]
    ) -> SqlValue:
        """Build a call of a function of the dialect."""
        return self.dialect.functions[name](*arguments)

    def value(self, node: nodes.Value) -> SqlValue:
        """Build the SQL of a value; `split_deep` has prepared the scope for it."""
        computed = self.scope.columns.get(_computed(node))
        if computed is not None:
            return computed
        if isinstance(node, nodes.Constant):
            return cast("SqlValue", constant(int(node.value)))
        sql = self._rendered(node)
        return self._number(sql) if _is_condition(sql, node) else sql

    def _condition(self, node: nodes.Value) -> sa.ColumnElement[bool]:
        computed = self.scope.columns.get(_computed(node))
        if computed is not None:
            return computed == constant(1)
        sql = self._rendered(node)
        return sql if _is_condition(sql, node) else sql == constant(1)

    def _number(self, condition: sa.ColumnElement[bool]) -> SqlValue:
        """A condition as a number: 1, 0 or null."""
        return self.call("as_number", [condition])

    def _rendered(self, node: nodes.Value) -> sa.ColumnElement[bool] | SqlValue:
        """The SQL of a node: a condition, or a value, which for a condition is 1, 0 or null."""
        match node:
            case nodes.Field():
                sql = self.scope.column(0, node.name)
            case nodes.Member():
                sql = self.scope.column(node.step, node.name)
            case nodes.Slot():
                sql = slot_of(node, self.first_slot)
            case nodes.Function():
                sql = self.call(node.name, [self.value(each) for each in node.arguments])
            case nodes.Null():
                sql = _NULL
            case nodes.Choice():
                sql = self._choice(node)
            case nodes.Related():
                inner = self._related(node.steps, node.value)
                inner.split_deep(node.value)
                sql = inner.scope.selecting(inner.value(node.value)).scalar_subquery()
            case nodes.CountOf():
                rows = self._related(node.steps, None).scope
                sql = cast("SqlValue", rows.selecting(sa.func.count()).scalar_subquery())
            case _:
                return self._rendered_condition(node)
        return sql

    def _rendered_condition(self, node: nodes.Test) -> sa.ColumnElement[bool]:
        match node:
            case nodes.Comparison():
                sql = self._comparison(node)
            case nodes.Junction():
                sql = self._junction(node)
            case nodes.Not():
                sql = sa.not_(self._condition(node.operand))
            case nodes.IsNull():
                sql = self.value(node.operand).is_(None)
            case nodes.OneOf():
                sql = self._one_of(node)
            case nodes.Exists():
                sql = self._exists(node)
            case nodes.MatchesSearch():
                sql = self._matches(node)
            case nodes.Constant():
                sql = sa.true() if node.value else sa.false()
        return sql

    def _comparison(self, node: nodes.Comparison) -> sa.ColumnElement[bool]:
        left, right = self.value(node.left), self.value(node.right)
        if not node.nullable:
            return _COMPARISONS[node.operator](left, right)
        if node.operator == "eq":
            return left.is_not_distinct_from(right)
        if node.operator == "ne":
            return left.is_distinct_from(right)
        return _COMPARISONS[node.operator](left, right).is_(sa.true())

    def _one_of(self, node: nodes.OneOf) -> sa.ColumnElement[bool]:
        operand = self.value(node.operand)
        items = [self.value(each) for each in node.items]
        if not node.nullable:
            return operand.in_(items)
        if all(isinstance(each, nodes.Slot) for each in node.items):
            return operand.in_(items).is_(sa.true())
        present = [self.call("null_as_value", [each]) for each in items]
        return self.call("null_as_value", [operand]).in_(present)

    def _choice(self, node: nodes.Choice) -> SqlValue:
        if _is_null(node):
            return _NULL
        branches = [
            (self._condition(condition), self.value(value))
            for condition, value in zip(node.conditions, node.values, strict=True)
        ]
        return cast("SqlValue", sa.case(*branches))

    def _junction(self, node: nodes.Junction) -> sa.ColumnElement[bool]:
        join = sa.and_ if node.operator == "and" else sa.or_
        terms = [self._condition(operand) for operand in node.operands]
        while len(terms) > GROUP:
            # "= 1" keeps SQLAlchemy from joining the groups into one chain again
            terms = [
                self._number(join(*terms[start : start + GROUP]).self_group()) == constant(1)
                for start in range(0, len(terms), GROUP)
            ]
        return join(*terms)

    def _related(self, steps: Sequence[nodes.Step], node: nodes.Value | None) -> "Expressions":
        """Render a node over the records at the end of steps, in a nested scope."""
        columns: dict[Name, SqlValue] = {}
        inner = SelectScope([], columns, parent=self.scope)
        used = _used_properties(steps, node)
        for step in steps:
            records = self.tables.records[step.target.name]
            columns_used = {name: records.columns[name] for name in sorted(used[step.number])}
            # only the columns that are used, since each column of a table costs time here
            table_columns = {
                each.name: sa.column(each.name, each.type) for each in columns_used.values()
            }
            other = sa.table(
                records.table.name, sa.column(COMPANY_ID, sa.String), *table_columns.values()
            ).alias()
            inner.froms.append(other)
            for name, each in columns_used.items():
                columns[step.number, name] = other.c[each.name]
            own, theirs = step.navigation.on
            key = inner.column(step.base, own)
            inner.conditions += [
                of_company(other),
                columns[step.number, theirs] == key,
                columns[step.number, theirs] != BLANK,
                *(
                    columns[step.number, name] == _constant_value(value)
                    for name, value in step.navigation.only.items()
                ),
            ]
        depth = _nested_depth(self.depth)
        return Expressions(self.tables, self.dialect, inner, None, self.first_slot, depth)

    def _exists(self, node: nodes.Exists) -> sa.ColumnElement[bool]:
        inner = self._related(node.steps, node.condition)
        if node.condition is not None:
            last = node.steps[-1]
            related = last.number, last.navigation.on[1]
            inner.restrict(
                node.condition, related if nodes.may_be_constant(node.condition) else None
            )
        return sa.exists(inner.scope.selecting(constant(1)))

    def _matches(self, node: nodes.MatchesSearch) -> sa.ColumnElement[bool]:
        if self.entity_set is None:
            raise LookupError("a search applies to the records of a set, not to related records")
        scope, searched = self.scope, SearchedSet(self.entity_set, self.tables, self.dialect)
        if scope.reads_texts:
            names = (self.entity_set.type.key, *self.entity_set.type.searched)
            record = {name: scope.column(0, name) for name in names}
            return searched.text_matches(node, record, scope.froms)
        return searched.matches(node, scope.column(0, self.entity_set.type.key))


def _computed(node: nodes.Value) -> Name:
    """The column of a node that a CTE computes."""
    return -1, str(id(node))


def _is_condition(
    sql: sa.ColumnElement[bool] | SqlValue, node: nodes.Value
) -> TypeIs[sa.ColumnElement[bool]]:
    # SQLAlchemy has no type for the negation of a chain
    return isinstance(node, nodes.Test) or isinstance(sql.type, sa.Boolean)


def _is_null(node: nodes.Value) -> bool:
    """Whether a value is always null, and so has no type."""
    if isinstance(node, nodes.Choice):
        return all(map(_is_null, node.values))
    return isinstance(node, nodes.Null)


def _used_properties(steps: Sequence[nodes.Step], node: nodes.Value | None) -> dict[int, set[str]]:
    """The properties of the records at each step that a node and the steps themselves use."""
    used: dict[int, set[str]] = defaultdict(set)
    walked = list(steps)
    for each in () if node is None else nodes.walk(node):
        if isinstance(each, nodes.Member):
            used[each.step].add(each.name)
        elif isinstance(each, nodes.Related | nodes.Exists | nodes.CountOf):
            walked += each.steps
    for step in walked:
        own, theirs = step.navigation.on
        used[step.base].add(own)
        used[step.number] |= {theirs, *step.navigation.only}
    return used


def _constant_value(value: str | int) -> SqlValue:
    """A value that the model declares, as a constant of the statement."""
    return cast("SqlValue", constant(value) if isinstance(value, int) else constant_text(value))


def _nested_depth(depth: int) -> int:
    """The depth for expressions over related records, within an expression of a given depth."""
    return max(depth - _OPEN_SYMBOLS[nodes.Exists], _LEAST_DEPTH)


class _Cuts:
    """The nodes at which expressions are cut: `by_cte` has those that each CTE computes, in order.

    `open` is the number of SQL symbols that the nodes leave open after the cuts.
    """

    def __init__(self, values: Sequence[nodes.Value], depth: int) -> None:
        self.by_cte: list[list[nodes.Value]] = []
        self._depth = depth
        self._measured: dict[int, tuple[int, int]] = {}
        self.open = max((self._measure(node)[0] for node in values), default=0)

    def _measure(self, node: nodes.Value) -> tuple[int, int]:
        """The symbols that a node leaves open, and the number of CTEs that it selects from."""
        known = self._measured.get(id(node))
        if known is not None:
            return known
        symbols = _OPEN_SYMBOLS.get(type(node), 1)
        below = [(child, *self._measure(child)) for child in nodes.parts(node)]
        ctes = max((each for _, _, each in below), default=0)
        deepest = 0
        for child, depth, child_ctes in below:
            if symbols + depth > self._depth and depth > 1:
                self._cut(child, child_ctes)
                ctes = max(ctes, child_ctes + 1)
            else:
                deepest = max(deepest, depth)
        measured = symbols + max(deepest, self._open_within(node)), ctes
        self._measured[id(node)] = measured
        return measured

    def _cut(self, node: nodes.Value, cte: int) -> None:
        while len(self.by_cte) <= cte:
            self.by_cte.append([])
        if not any(each is node for each in self.by_cte[cte]):
            self.by_cte[cte].append(node)

    def _open_within(self, node: nodes.Value) -> int:
        """The symbols that the expression of a node over related records leaves open at most."""
        inner = node.condition if isinstance(node, nodes.Exists) else None
        if isinstance(node, nodes.Related):
            inner = node.value
        return 1 if inner is None else _Cuts([inner], _nested_depth(self._depth)).open
