"""Bound expressions to SQL, over the records that are asked about and those related to them."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from sqlalchemy import (
    Boolean,
    ColumnElement,
    String,
    and_,
    case,
    column,
    exists,
    false,
    func,
    literal_column,
    not_,
    or_,
    table,
    true,
)

from comptoir.edm.model import EntitySet
from comptoir.plan.expressions.nodes import (
    Choice,
    Comparison,
    Constant,
    CountOf,
    Exists,
    Field,
    Function,
    HasAttribute,
    IsNull,
    Junction,
    MatchesSearch,
    Member,
    Not,
    Null,
    OneOf,
    Related,
    Slot,
    Step,
    Value,
    may_be_constant,
    parts,
)
from comptoir.plan.functions import FunctionName
from comptoir.sql.depth import DEPTH, Cuts, within
from comptoir.sql.dialects import Dialect
from comptoir.sql.prepared import BLANK, constant, named, slot_of
from comptoir.sql.select_scope import Name, SelectScope, SqlValue
from comptoir.sql.tables import COMPANY_ID, Tables
from comptoir.sql.text_index import matches

GROUP = 100
"""How many terms of a chain stand in a row."""

COMPANY = "company"
"""The name of the statement's value that is the company's id."""

_NULL: SqlValue = literal_column("NULL")

_COMPARISONS: Mapping[str, Callable[[SqlValue, SqlValue], ColumnElement[bool]]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "le": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "ge": lambda left, right: left >= right,
}


class Expressions:
    """Builds the SQL of expressions whose values begin at a slot."""

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

    def restrict(self, scope: SelectScope, node: Value, of: Name | None = None) -> None:
        """Narrow a scope to where a condition holds.

        `of` is a column of the records that the condition is about, even where it names none.
        """
        self.split_deep(scope, node)
        condition = _At(self, scope).condition(node)
        if of is not None:
            held = self.call("asked_of", [scope.column(*of), condition])
            condition = cast("ColumnElement[bool]", held)
        scope.conditions.append(condition)

    def value(self, scope: SelectScope, node: Value) -> SqlValue:
        """The SQL of a value over a scope whose CTEs `split_deep` has added."""
        return _At(self, scope).value(node)

    def split_deep(self, scope: SelectScope, *nodes: Value) -> None:
        """Move the parts of expressions that are too deep into CTEs of a scope."""
        for stage in Cuts(nodes, self._depth).stages:
            at = _At(self, scope)
            columns = scope.extend(dict(scope.computed), [at.value(each) for each in stage])
            scope.computed.update(
                (id(node), column) for node, column in zip(stage, columns, strict=True)
            )

    def slot(self, node: Slot) -> SqlValue:
        """The place of a value."""
        return slot_of(node, self._first_slot)

    def call(
        self, name: FunctionName, arguments: Sequence[SqlValue | ColumnElement[bool]]
    ) -> SqlValue:
        """A function of the dialect."""
        return cast("SqlValue", self._dialect.functions[name](*arguments))

    def deeper(self) -> "Expressions":
        """The same for expressions over related records."""
        return Expressions(self._tables, self._dialect, None, self._first_slot, within(self._depth))

    def related(self, scope: SelectScope, steps: Sequence[Step], node: Value | None) -> SelectScope:
        """The scope of the records at the end of steps from a scope's, to compute a node over."""
        columns: dict[tuple[int, str], SqlValue] = {}
        inner = SelectScope([], columns, parent=scope)
        asked = _asked(steps, node)
        for step in steps:
            records = self._tables.records[step.target.name]
            held = {name: records.columns[name] for name in sorted(asked[step.number])}
            # of a table's many columns, those that are asked for are all that costs time here
            named_alike = {each.name: column(each.name, each.type) for each in held.values()}
            other = table(
                records.table.name, column(COMPANY_ID, String), *named_alike.values()
            ).alias()
            inner.froms.append(other)
            for name, each in held.items():
                columns[step.number, name] = other.c[each.name]
            own, theirs = step.navigation.on
            key = inner.column(step.base, own)
            inner.conditions += [
                other.c[COMPANY_ID] == named(COMPANY),
                columns[step.number, theirs] == key,
                columns[step.number, theirs] != BLANK,
                *(
                    columns[step.number, name] == _written(value)
                    for name, value in step.navigation.only.items()
                ),
            ]
        return inner

    def has_attribute(self, scope: SelectScope, node: HasAttribute) -> ColumnElement[bool]:
        """Whether a record carries an attribute."""
        pairs = None if self._set is None else self._set.pair_filter
        if pairs is None:
            raise LookupError("the set declares no pairs to filter by")
        carrier = self._tables.records[pairs.carrier]
        other = carrier.table.alias()
        columns = {held: other.c[column.name] for held, column in carrier.columns.items()}
        holds = [
            other.c[COMPANY_ID] == named(COMPANY),
            columns[pairs.carrier_reference] == scope.column(0, pairs.reference),
            columns[pairs.carrier_name] == self.slot(node.name),
        ]
        if node.value is not None:
            holds.append(columns[pairs.carrier_value] == self.slot(node.value))
        return exists(SelectScope([other], {}, holds, scope).selecting(constant(1)))

    def matches(self, scope: SelectScope, node: MatchesSearch) -> ColumnElement[bool]:
        """Whether a record is among those that a search finds."""
        if self._set is None:
            raise LookupError("related records are not searched")
        key = scope.column(0, self._set.type.key)
        return matches(node, self._set, key, self._tables, self._dialect)


class _At:
    """Renders nodes over a scope that has its CTEs."""

    def __init__(self, terms: Expressions, scope: SelectScope) -> None:
        self._terms = terms
        self._scope = scope

    def condition(self, node: Value) -> ColumnElement[bool]:
        computed = self._scope.computed.get(id(node))
        if computed is not None:
            return computed == constant(1)
        match node:
            case Junction():
                held = self._junction(node)
            case Comparison():
                held = self._comparison(node)
            case OneOf():
                held = self._one_of(node)
            case Not():
                held = not_(self.condition(node.operand))
            case IsNull():
                held = self.value(node.operand).is_(None)
            case Exists():
                held = self._exists(node)
            case HasAttribute():
                held = self._terms.has_attribute(self._scope, node)
            case MatchesSearch():
                held = self._terms.matches(self._scope, node)
            case Constant():
                held = true() if node.value else false()
            case Function():
                made = self._function(node)
                is_condition = isinstance(made.type, Boolean)
                held = cast("ColumnElement[bool]", made) if is_condition else made == constant(1)
            case _:
                held = self.value(node) == constant(1)
        return held

    def value(self, node: Value) -> SqlValue:
        computed = self._scope.computed.get(id(node))
        if computed is not None:
            return computed
        match node:
            case Field():
                held = self._scope.column(0, node.name)
            case Member():
                held = self._scope.column(node.step, node.name)
            case Slot():
                held = self._terms.slot(node)
            case Function():
                made = self._function(node)
                held = self._number(made) if isinstance(made.type, Boolean) else made
            case Null():
                held = _NULL
            case Constant():
                held = cast("SqlValue", constant(int(node.value)))
            case Choice():
                held = self._choice(node)
            case Related():
                held = self._related(node)
            case CountOf():
                inner = self._terms.related(self._scope, node.steps, None)
                held = cast("SqlValue", inner.selecting(func.count()).scalar_subquery())
            case _:
                held = self._number(self.condition(node))
        return held

    def _number(self, condition: ColumnElement[bool] | SqlValue) -> SqlValue:
        """A condition as the database keeps it: 1, 0 or null."""
        return self._terms.call("as_number", [condition])

    def _related(self, node: Related) -> SqlValue:
        inner = self._terms.related(self._scope, node.steps, node.value)
        deeper = self._terms.deeper()
        deeper.split_deep(inner, node.value)
        return inner.selecting(deeper.value(inner, node.value)).scalar_subquery()

    def _function(self, node: Function) -> SqlValue:
        return self._terms.call(node.name, [self.value(each) for each in node.arguments])

    def _comparison(self, node: Comparison) -> ColumnElement[bool]:
        left, right = self.value(node.left), self.value(node.right)
        if not node.nullable:
            return _COMPARISONS[node.operator](left, right)
        if node.operator == "eq":
            return left.is_not_distinct_from(right)
        if node.operator == "ne":
            return left.is_distinct_from(right)
        return _COMPARISONS[node.operator](left, right).is_(true())

    def _one_of(self, node: OneOf) -> ColumnElement[bool]:
        operand = self.value(node.operand)
        items = [self.value(each) for each in node.items]
        if not node.nullable:
            return operand.in_(items)
        if all(isinstance(each, Slot) for each in node.items):
            return operand.in_(items).is_(true())
        present = [self._terms.call("present", [each]) for each in items]
        return self._terms.call("present", [operand]).in_(present)

    def _choice(self, node: Choice) -> SqlValue:
        if _is_null(node):
            return _NULL
        branches = [
            (self.condition(condition), self.value(value))
            for condition, value in zip(node.conditions, node.values, strict=True)
        ]
        return cast("SqlValue", case(*branches))

    def _exists(self, node: Exists) -> ColumnElement[bool]:
        inner = self._terms.related(self._scope, node.steps, node.condition)
        if node.condition is not None:
            last = node.steps[-1]
            related = last.number, last.navigation.on[1]
            of = related if may_be_constant(node.condition) else None
            self._terms.deeper().restrict(inner, node.condition, of)
        return exists(inner.selecting(constant(1)))

    def _junction(self, node: Junction) -> ColumnElement[bool]:
        join = and_ if node.operator == "and" else or_
        terms = [self.condition(operand) for operand in node.operands]
        while len(terms) > GROUP:
            # "is one" keeps SQLAlchemy from flattening the groups into one chain again
            terms = [
                self._number(join(*terms[start : start + GROUP]).self_group()) == constant(1)
                for start in range(0, len(terms), GROUP)
            ]
        return join(*terms)


def _is_null(node: Value) -> bool:
    """Whether nothing but null can come of a value, which then has no type either."""
    if isinstance(node, Choice):
        return all(map(_is_null, node.values))
    return isinstance(node, Null)


def _asked(steps: Sequence[Step], node: Value | None) -> dict[int, set[str]]:
    """The properties of the records at each step that a node and the steps themselves ask for."""
    asked: dict[int, set[str]] = defaultdict(set)
    pending: list[Value] = [] if node is None else [node]
    walked = list(steps)
    while pending:
        each = pending.pop()
        if isinstance(each, Member):
            asked[each.step].add(each.name)
        elif isinstance(each, Related | Exists | CountOf):
            walked += each.steps
        pending += parts(each)
        if isinstance(each, Related):
            pending.append(each.value)
        elif isinstance(each, Exists) and each.condition is not None:
            pending.append(each.condition)
    for step in walked:
        own, theirs = step.navigation.on
        asked[step.base].add(own)
        asked[step.number] |= {theirs, *step.navigation.only}
    return asked


def _written(value: str | int) -> SqlValue:
    """A value that the model declares, as part of a statement itself."""
    if isinstance(value, int):
        return cast("SqlValue", constant(value))
    quoted = value.replace("'", "''")
    return literal_column(f"'{quoted}'")
