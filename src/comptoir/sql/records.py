"""What reads of records select from: a set's table, with computed values and sorting above it."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import ColumnElement, Text, and_, cast, false, literal_column, not_, or_
from sqlalchemy.sql.elements import UnaryExpression

from comptoir.edm.model import EntitySet
from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import Value
from comptoir.plan.read import Computed, Order, OrderKey, OrderTerm
from comptoir.sql.dialects import Dialect
from comptoir.sql.expressions import COMPANY, Expressions
from comptoir.sql.prepared import BLANK, named
from comptoir.sql.select_scope import Name, SelectScope, SqlValue
from comptoir.sql.tables import COMPANY_ID, VERSION, Tables

VERSION_NAME: Name = (-1, VERSION)
"""What a scope calls the version of its records."""


class Term(msgspec.Struct, frozen=True, gc=False):
    """The shape of an expression to sort by, and how many values it has."""

    value: Value
    nullable: bool
    descending: bool
    count: int


Terms = tuple[OrderKey | Term, ...]

Beside = tuple[tuple[str, Value, int], ...]
"""The shapes of computed values: name, expression, and how many values it has."""


class RecordScopes:
    """Builds the scopes on which statements about records stand."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._dialect = dialect

    def scope(self, entity_set: EntitySet) -> SelectScope:
        """The records of a set: of its own table, or of the one that its view names."""
        records = self._tables.records[entity_set.name]
        table = records.table
        columns: dict[Name, SqlValue] = {
            (0, name): column for name, column in records.columns.items()
        }
        version: SqlValue = table.c[VERSION]
        if not entity_set.per_company:
            # a company's tag is made of its own incarnation, which no company in the path gives
            version = table.c.incarnation + literal_column("'.'") + cast(version, Text)
        columns[VERSION_NAME] = version
        company = [table.c[COMPANY_ID] == named(COMPANY)] if entity_set.per_company else []
        return SelectScope([table], columns, company)

    def narrowed(
        self, entity_set: EntitySet, keys: int | None, within: Sequence[str]
    ) -> SelectScope:
        """The records with some keys, unless there is no number of them, and some values."""
        scope = self.scope(entity_set)
        for name, place in zip(within, within_names(within), strict=True):
            scope.conditions.append(scope.column(0, name) == named(place))
            if is_free_when_blank(entity_set, name):
                # its index is partial, and only a statement that says so may use it
                scope.conditions.append(scope.column(0, name) != BLANK)
        if keys is not None:
            listed = [named(name) for name in key_names(keys)]
            key = scope.column(0, entity_set.type.key)
            scope.conditions.append(key.in_(listed) if listed else false())
        return scope

    def compute(self, scope: SelectScope, entity_set: EntitySet, beside: Beside, first: int) -> int:
        """Move a scope onto a CTE with computed values, whose slots begin at `first`.

        Gives the slot behind theirs.
        """
        shapes = [(value, count) for _, value, count in beside]
        columns = self._extend(scope, entity_set, shapes, first)
        for (name, _, _), column in zip(beside, columns, strict=True):
            scope.columns[0, name] = column
        return first + sum(count for _, count in shapes)

    def sort(self, scope: SelectScope, entity_set: EntitySet, terms: Terms, first: int) -> None:
        """Move a scope onto a CTE with the values to sort by, whose slots begin at `first`."""
        shapes = [(each.value, each.count) for each in terms if isinstance(each, Term)]
        columns = self._extend(scope, entity_set, shapes, first)
        for number, column in enumerate(columns):
            scope.columns[_sorted(number)] = column

    def restrict(self, scope: SelectScope, entity_set: EntitySet, condition: Value | None) -> None:
        """Narrow a scope to where a condition holds, whose slots are the first ones."""
        if condition is not None:
            self._expressions(entity_set, 0).restrict(scope, condition)

    def _extend(
        self,
        scope: SelectScope,
        entity_set: EntitySet,
        shapes: list[tuple[Value, int]],
        first: int,
    ) -> list[SqlValue]:
        parts: list[tuple[Expressions, Value]] = []
        for value, count in shapes:
            parts.append((self._expressions(entity_set, first), value))
            first += count
        for expressions, value in parts:
            expressions.split_deep(scope, value)
        if not parts:
            return []
        values = [expressions.value(scope, value) for expressions, value in parts]
        return scope.extend({}, values)

    def _expressions(self, entity_set: EntitySet, first: int) -> Expressions:
        return Expressions(self._tables, self._dialect, entity_set, first)


def row(scope: SelectScope, entity_set: EntitySet, beside: Beside, terms: Terms) -> list[SqlValue]:
    """What a read selects: version, properties, computed values, the expressions sorted by."""
    names = [*entity_set.type.by_name, *(name for name, _, _ in beside)]
    return [
        scope.columns[VERSION_NAME],
        *(scope.columns[0, name] for name in names),
        *(column for term, column in order(scope, terms) if isinstance(term, Term)),
    ]


def order(scope: SelectScope, terms: Terms) -> list[tuple[OrderKey | Term, SqlValue]]:
    """What a scope is sorted by: each term beside its column."""
    columns: list[tuple[OrderKey | Term, SqlValue]] = []
    number = 0
    for term in terms:
        if isinstance(term, OrderKey):
            columns.append((term, scope.column(0, term.name)))
        else:
            columns.append((term, scope.column(*_sorted(number))))
            number += 1
    return columns


def directed(term: OrderKey | Term, column: SqlValue) -> UnaryExpression[str | int]:
    """A column to sort by, up or down, null before everything else."""
    sorting = column.desc() if term.descending else column.asc()
    if isinstance(term, Term) and term.nullable:
        return sorting.nulls_last() if term.descending else sorting.nulls_first()
    return sorting


def behind(columns: Sequence[tuple[OrderKey | Term, SqlValue]]) -> ColumnElement[bool]:
    """Whether a row stands behind the sought one: by the first key in which they differ."""
    cases: list[ColumnElement[bool]] = []
    equal: list[ColumnElement[bool]] = []
    for (term, column), place in zip(columns, seek_names(len(columns)), strict=True):
        sought = named(place)
        further = column < sought if term.descending else column > sought
        same = column == sought
        if isinstance(term, Term) and term.nullable:
            # null comes first, and last when the order descends
            absent, given = column.is_(None), sought.is_not(None)
            beyond = and_(absent, given) if term.descending else not_(or_(absent, given))
            further, same = or_(further, beyond), column.is_not_distinct_from(sought)
        cases.append(and_(*equal, further))
        equal.append(same)
    return or_(*cases)


def beside_of(computed: Computed) -> Beside:
    """The shape of computed properties."""
    return tuple([(each.name, each.value, len(each.values)) for each in computed])


def values_beside(computed: Computed) -> list[Stored]:
    """The values for the slots of computed properties."""
    return [value for each in computed for value in each.values]


def terms_of(sorted_by: Order) -> tuple[Terms, tuple[Stored, ...]]:
    """The shape of an order, and the values for the slots of its expressions."""
    keys = tuple([each for each in sorted_by if isinstance(each, OrderKey)])
    if len(keys) == len(sorted_by):
        return keys, ()
    terms: list[OrderKey | Term] = []
    values: tuple[Stored, ...] = ()
    for each in sorted_by:
        if isinstance(each, OrderTerm):
            terms.append(Term(each.value, each.nullable, each.descending, len(each.values)))
            values += each.values
        else:
            terms.append(each)
    return tuple(terms), values


def is_free_when_blank(entity_set: EntitySet, name: str) -> bool:
    """Whether the index of a property leaves blank values out.

    Only a statement that leaves them out as well may use it.
    """
    return any(each.blank_is_free and name in each.properties for each in entity_set.type.unique)


def within_names(within: Sequence[str]) -> list[str]:
    """What the values are called that properties must have."""
    return [f"within_{number}" for number in range(len(within))]


def key_names(keys: int | None) -> list[str]:
    """What so many keys are called that a collection is narrowed to."""
    return [f"key_{number}" for number in range(keys or 0)]


def seek_names(count: int) -> list[str]:
    """What so many values are called that a page seeks behind."""
    return [f"seek_{number}" for number in range(count)]


def _sorted(number: int) -> Name:
    return (-2, str(number))
