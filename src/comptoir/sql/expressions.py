"""The SQL of bound expressions, over records and the records related to them.

Databases and SQLAlchemy's compiler recurse over expressions: SQLite's parser fails when about a
hundred of its symbols are open. The deep parts of an expression are therefore computed as columns
of common table expressions, each of which may select from another.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import cast

import sqlalchemy as sa

from comptoir.edm.model import EntitySet
from comptoir.plan.expressions import nodes
from comptoir.plan.expressions.types import FunctionName
from comptoir.sql.dialects import Dialect, SqlValue
from comptoir.sql.prepared import BLANK, RowSelect, constant, constant_text, slot_of
from comptoir.sql.tables import COMPANY_ID, Tables, of_company
from comptoir.sql.text_index import matches, text_matches

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

        self.computed: dict[int, SqlValue] = {}
        """The columns of the nodes that a CTE computes, by the identity of the node."""

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

    def _select_from(self, statement: RowSelect) -> sa.CTE:
        cte = statement.cte(f"cte_{next(self._numbers)}")
        self.froms, self.conditions = [cte], []
        self._ctes.append(cte)
        return cte

    def extend(self, kept: dict[int, SqlValue], values: Sequence[SqlValue]) -> list[SqlValue]:
        """Move the scope onto a CTE that has further values as columns, and return these columns.

        `kept` are the columns of earlier CTEs to keep.
        """
        names, ids = list(self.columns), list(kept)
        listed = [*self.columns.values(), *kept.values(), *values]
        labels = [f"c{number}" for number in range(len(listed))]
        labelled = [each.label(label) for each, label in zip(listed, labels, strict=True)]
        cte = self._select_from(self._selecting(labelled))
        columns: list[SqlValue] = [cte.c[label] for label in labels]
        self.columns = dict(zip(names, columns[: len(names)], strict=True))
        others = columns[len(names) :]
        self.computed = dict(zip(ids, others[: len(ids)], strict=True))
        return others[len(ids) :]

    def project(self, columns: dict[Name, SqlValue], finish: Finish) -> None:
        """Move the scope onto a CTE that has only these columns; `finish` adds its last clauses."""
        labels = [f"c{number}" for number in range(len(columns))]
        values = [each.label(label) for each, label in zip(columns.values(), labels, strict=True)]
        cte = self._select_from(finish(self._selecting(values)))
        self.computed = {}
        self.columns = {name: cte.c[label] for name, label in zip(columns, labels, strict=True)}


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
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
}


class Expressions:
    """Builds the SQL of the expressions of a statement; their slots begin at `first_slot`."""

    def __init__(
        self,
        tables: Tables,
        dialect: Dialect,
        entity_set: EntitySet | None,
        first_slot: int = 0,
        depth: int = DEPTH,
    ) -> None:
        self._tables = tables
        self._dialect = dialect
        self._set = entity_set
        self._first_slot = first_slot
        self._depth = depth

    def restrict(self, scope: SelectScope, node: nodes.Value, of: Name | None = None) -> None:
        """Add a condition to a scope.

        `of` is a column of the scope's records, for a condition that may have the same result for
        all of them: a planner could otherwise leave them out.
        """
        self.split_deep(scope, node)
        condition = _Renderer(self, scope).condition(node)
        if of is not None:
            guarded = self.call("tied_to_row", [scope.column(*of), condition])
            condition = cast("sa.ColumnElement[bool]", guarded)
        scope.conditions.append(condition)

    def value(self, scope: SelectScope, node: nodes.Value) -> SqlValue:
        """Build the SQL of a value over a scope that `split_deep` has prepared for it."""
        return _Renderer(self, scope).value(node)

    def split_deep(self, scope: SelectScope, *values: nodes.Value) -> None:
        """Move the parts of expressions that are too deep into CTEs of a scope."""
        for cut in _Cuts(values, self._depth).by_cte:
            renderer = _Renderer(self, scope)
            columns = scope.extend(dict(scope.computed), [renderer.value(each) for each in cut])
            scope.computed.update(
                (id(node), column) for node, column in zip(cut, columns, strict=True)
            )

    def slot(self, node: nodes.Slot) -> SqlValue:
        """Return the bind parameter of a slot."""
        return slot_of(node, self._first_slot)

    def call(
        self, name: FunctionName, arguments: Sequence[SqlValue | sa.ColumnElement[bool]]
    ) -> SqlValue:
        """Build a call of a function of the dialect."""
        return cast("SqlValue", self._dialect.functions[name](*arguments))

    def nested(self) -> "Expressions":
        """Return a builder for expressions over related records."""
        return Expressions(
            self._tables, self._dialect, None, self._first_slot, _nested_depth(self._depth)
        )

    def related(
        self, scope: SelectScope, steps: Sequence[nodes.Step], node: nodes.Value | None
    ) -> SelectScope:
        """Return a nested scope for a node over the records at the end of steps."""
        columns: dict[tuple[int, str], SqlValue] = {}
        inner = SelectScope([], columns, parent=scope)
        used = _used_properties(steps, node)
        for step in steps:
            records = self._tables.records[step.target.name]
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
        return inner

    def has_attribute(self, scope: SelectScope, node: nodes.HasAttribute) -> sa.ColumnElement[bool]:
        """Build the condition that the record has an attribute."""
        pairs = None if self._set is None else self._set.pair_filter
        if pairs is None:
            raise LookupError("the entity set does not declare a pair filter")
        carrier = self._tables.records[pairs.carrier]
        other = carrier.table.alias()
        columns = {name: other.c[column.name] for name, column in carrier.columns.items()}
        conditions = [
            of_company(other),
            columns[pairs.carrier_reference] == scope.column(0, pairs.reference),
            columns[pairs.carrier_name] == self.slot(node.name),
        ]
        if node.value is not None:
            conditions.append(columns[pairs.carrier_value] == self.slot(node.value))
        return sa.exists(SelectScope([other], {}, conditions, scope).selecting(constant(1)))

    def matches(self, scope: SelectScope, node: nodes.MatchesSearch) -> sa.ColumnElement[bool]:
        """Build the condition that a search finds the record."""
        if self._set is None:
            raise LookupError("a search applies to the records of a set, not to related records")
        if scope.reads_texts:
            names = (self._set.type.key, *self._set.type.searched)
            record = {name: scope.column(0, name) for name in names}
            return text_matches(node, self._set, record, scope.froms, self._tables, self._dialect)
        key = scope.column(0, self._set.type.key)
        return matches(node, self._set, key, self._tables, self._dialect)


class _Renderer:
    """Renders the nodes of expressions over a scope."""

    def __init__(self, expressions: Expressions, scope: SelectScope) -> None:
        self._expressions = expressions
        self._scope = scope

    def condition(self, node: nodes.Value) -> sa.ColumnElement[bool]:
        computed = self._scope.computed.get(id(node))
        if computed is not None:
            return computed == constant(1)
        match node:
            case nodes.Junction():
                sql = self._junction(node)
            case nodes.Comparison():
                sql = self._comparison(node)
            case nodes.OneOf():
                sql = self._one_of(node)
            case nodes.Not():
                sql = sa.not_(self.condition(node.operand))
            case nodes.IsNull():
                sql = self.value(node.operand).is_(None)
            case nodes.Exists():
                sql = self._exists(node)
            case nodes.HasAttribute():
                sql = self._expressions.has_attribute(self._scope, node)
            case nodes.MatchesSearch():
                sql = self._expressions.matches(self._scope, node)
            case nodes.Constant():
                sql = sa.true() if node.value else sa.false()
            case nodes.Function():
                value = self._function(node)
                is_condition = isinstance(value.type, sa.Boolean)
                sql = (
                    cast("sa.ColumnElement[bool]", value) if is_condition else value == constant(1)
                )
            case _:
                sql = self.value(node) == constant(1)
        return sql

    def value(self, node: nodes.Value) -> SqlValue:
        computed = self._scope.computed.get(id(node))
        if computed is not None:
            return computed
        match node:
            case nodes.Field():
                sql = self._scope.column(0, node.name)
            case nodes.Member():
                sql = self._scope.column(node.step, node.name)
            case nodes.Slot():
                sql = self._expressions.slot(node)
            case nodes.Function():
                value = self._function(node)
                sql = self._number(value) if isinstance(value.type, sa.Boolean) else value
            case nodes.Null():
                sql = _NULL
            case nodes.Constant():
                sql = cast("SqlValue", constant(int(node.value)))
            case nodes.Choice():
                sql = self._choice(node)
            case nodes.Related():
                sql = self._related(node)
            case nodes.CountOf():
                inner = self._expressions.related(self._scope, node.steps, None)
                sql = cast("SqlValue", inner.selecting(sa.func.count()).scalar_subquery())
            case _:
                sql = self._number(self.condition(node))
        return sql

    def _number(self, condition: sa.ColumnElement[bool] | SqlValue) -> SqlValue:
        """A condition as a number: 1, 0 or null."""
        return self._expressions.call("as_number", [condition])

    def _related(self, node: nodes.Related) -> SqlValue:
        inner = self._expressions.related(self._scope, node.steps, node.value)
        nested = self._expressions.nested()
        nested.split_deep(inner, node.value)
        return inner.selecting(nested.value(inner, node.value)).scalar_subquery()

    def _function(self, node: nodes.Function) -> SqlValue:
        return self._expressions.call(node.name, [self.value(each) for each in node.arguments])

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
        present = [self._expressions.call("null_as_value", [each]) for each in items]
        return self._expressions.call("null_as_value", [operand]).in_(present)

    def _choice(self, node: nodes.Choice) -> SqlValue:
        if _is_null(node):
            return _NULL
        branches = [
            (self.condition(condition), self.value(value))
            for condition, value in zip(node.conditions, node.values, strict=True)
        ]
        return cast("SqlValue", sa.case(*branches))

    def _exists(self, node: nodes.Exists) -> sa.ColumnElement[bool]:
        inner = self._expressions.related(self._scope, node.steps, node.condition)
        if node.condition is not None:
            last = node.steps[-1]
            related = last.number, last.navigation.on[1]
            of = related if nodes.may_be_constant(node.condition) else None
            self._expressions.nested().restrict(inner, node.condition, of)
        return sa.exists(inner.selecting(constant(1)))

    def _junction(self, node: nodes.Junction) -> sa.ColumnElement[bool]:
        join = sa.and_ if node.operator == "and" else sa.or_
        terms = [self.condition(operand) for operand in node.operands]
        while len(terms) > GROUP:
            # "= 1" keeps SQLAlchemy from joining the groups into one chain again
            terms = [
                self._number(join(*terms[start : start + GROUP]).self_group()) == constant(1)
                for start in range(0, len(terms), GROUP)
            ]
        return join(*terms)


def _is_null(node: nodes.Value) -> bool:
    """Whether a value is always null, and so has no type."""
    if isinstance(node, nodes.Choice):
        return all(map(_is_null, node.values))
    return isinstance(node, nodes.Null)


def _used_properties(steps: Sequence[nodes.Step], node: nodes.Value | None) -> dict[int, set[str]]:
    """The properties of the records at each step that a node and the steps themselves use."""
    used: dict[int, set[str]] = defaultdict(set)
    pending: list[nodes.Value] = [] if node is None else [node]
    walked = list(steps)
    while pending:
        each = pending.pop()
        if isinstance(each, nodes.Member):
            used[each.step].add(each.name)
        elif isinstance(each, nodes.Related | nodes.Exists | nodes.CountOf):
            walked += each.steps
        pending += nodes.parts(each)
        if isinstance(each, nodes.Related):
            pending.append(each.value)
        elif isinstance(each, nodes.Exists) and each.condition is not None:
            pending.append(each.condition)
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
