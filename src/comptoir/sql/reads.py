"""Statements that read records, each compiled once per shape of its plan.

A page, a count and a read of related records start from the same SELECT: the records of a set. The
transformations of the pipeline build on it, each grouping and each limit as a common table
expression, so a statement is as long as its pipeline and not deeper.
"""

import logging
from collections.abc import Sequence
from itertools import groupby

import msgspec
import sqlalchemy as sa
from sqlalchemy.sql.elements import UnaryExpression

from comptoir.edm.model import LAST_CHANGE, Company, EntitySet, NavigationProperty, Property
from comptoir.edm.record_json import record_encoder
from comptoir.edm.types import Stored
from comptoir.errors import refusal_rows
from comptoir.plan.expressions.nodes import Field, Value, padded
from comptoir.plan.read import (
    Bounds,
    Compute,
    CountPlan,
    Filter,
    Grouping,
    Limit,
    NamedValue,
    OrderKey,
    PagePlan,
    Pipeline,
    RecordPlan,
    RelatedPlan,
)
from comptoir.sql.dialects import Dialect
from comptoir.sql.dialects.functions import SqlValue
from comptoir.sql.expressions import Expressions, Name, SelectScope
from comptoir.sql.prepared import (
    BLANK,
    Prepared,
    Query,
    by_shape,
    constant,
    constant_text,
    named,
    prepare,
    slot_of,
    whole,
)
from comptoir.sql.tables import COMPANY, JSON, VERSION, Records, Tables, column_type, of_company

_log = logging.getLogger(__name__)

FEW_CTES = 10
"""The most common table expressions of a statement that runs in the event loop."""

MOST_CTES = 50
"""The most common table expressions of `$apply`: the time to build each grows with their number."""

_VERSION: Name = (-1, VERSION)
_JSON: Name = (-1, JSON[0])
_COMPUTED = -2
_RANK = "rank_among_related"

BoundsShape = tuple[int | None, tuple[str, ...]]
"""The number of keys, unless all records are meant, and the properties with required values."""

RecordShape = tuple[EntitySet, bool]
CountShape = tuple[Pipeline, BoundsShape]
PageShape = tuple[Pipeline, BoundsShape, bool, bool, bool]
RelatedShape = tuple[Pipeline, NavigationProperty, int]


class ReadStatements:
    """Builds and caches the statements that read the records of a model's sets."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._dialect = dialect

    def record(self, plan: RecordPlan, *, json: bool = False) -> Query:
        """The statement that reads one record or its JSON, null if outdated: no row, or one."""
        return self._records[plan.entity_set, json].query(plan.company_id, plan.key)

    def page(self, plan: PagePlan, *, walks: bool = False) -> Query:
        """The statement that reads the rows of a page, in order."""
        bounds, keyset = plan.bounds, plan.keyset
        shape = plan.pipeline, _shape(bounds), keyset is not None, plan.skip > 0, walks
        return self._pages[shape].query(
            *_bounds_values(bounds), plan.limit, plan.skip, *(keyset or ()), *plan.values
        )

    def walk(self, plan: PagePlan) -> Query | None:
        """The statement that reads a searched page record by record, in an index of its order.

        None for a page without a search, or without such an index.
        """
        pipeline = plan.pipeline
        walks = pipeline.searches and self._has_index(pipeline)
        return self.page(plan, walks=True) if walks else None

    def count(self, plan: CountPlan) -> Query:
        """The statement that counts: one row with one number."""
        prepared = self._counts[plan.pipeline, _shape(plan.bounds)]
        return prepared.query(*_bounds_values(plan.bounds), *plan.values)

    def set_count(self, company: Company, entity_set: EntitySet) -> Query:
        """The statement that counts a set: a row with the company's last change and the number."""
        return self._set_counts[entity_set].query(company.id)

    def related(self, plan: RelatedPlan) -> Query:
        """The statement that reads related records, those of each value together and in order."""
        page, values = plan.page, padded(plan.values)
        prepared = self._related[page.pipeline, plan.navigation, len(values)]
        return prepared.query(
            page.bounds.company_id,
            *plan.navigation.only.values(),
            *values,
            page.skip,
            page.skip + plan.limit,
            *page.values,
        )

    def related_counts(self, plan: RelatedPlan) -> Query:
        """The statement that returns values, each with the number of its related records."""
        page, values = plan.page, padded(plan.values)
        prepared = self._related_counts[page.pipeline, plan.navigation, len(values)]
        return prepared.query(
            page.bounds.company_id, *plan.navigation.only.values(), *values, *page.values
        )

    @by_shape
    def _records(self, shape: RecordShape) -> Prepared:
        entity_set, json = shape
        scope = self._base(entity_set)
        scope.conditions.append(scope.column(0, entity_set.type.key) == named("key"))
        columns = [
            scope.columns[_VERSION],
            *(scope.column(0, each) for each in entity_set.type.by_name),
        ]
        statement = scope.selecting(*([self._json(entity_set)] if json else columns))
        return self._prepared(statement, scope, (COMPANY, "key"))

    @by_shape
    def _pages(self, shape: PageShape) -> Prepared:
        pipeline, bounds, continues, skips, walks = shape
        scope = self._bounded(pipeline.entity_set, bounds)
        scope.reads_texts = walks
        if pipeline.as_json:
            scope.columns[_JSON] = self._json(pipeline.entity_set)
        self._transform(scope, pipeline)
        order = self._sort(scope, pipeline)
        if sorts := not self._has_index(pipeline):
            message = "%s: no index begins with %s, so each page in this order reads the whole set"
            _log.debug(message, pipeline.entity_set.name, pipeline.order[0].name)
        names = [*_bounds_names(bounds), "limit", "skip"]
        if continues:
            names += _numbered("keyset", len(order))
            scope.conditions.append(_after_keyset(order))
        by_key = pipeline.as_json and (sorts or _is_mixed(order))
        key = pipeline.entity_set.type.key
        statement = (
            scope.selecting(*([scope.column(0, key)] if by_key else _row(scope, pipeline)))
            .order_by(*_directed_all(order))
            .limit(whole("limit"))
            .offset(whole("skip") if skips else constant(0))
        )
        if by_key:
            # a sort of more records than those of the page would copy the JSON of each
            found = self._base(pipeline.entity_set)
            found.conditions.append(found.column(0, key).in_(statement.correlate(None)))
            statement = found.selecting(self._json(pipeline.entity_set)).order_by(
                *_directed_all(_order(found, pipeline.order))
            )
        return self._prepared(statement, scope, names)

    def _has_index(self, pipeline: Pipeline) -> bool:
        """Whether an index begins with the first key of a list's order; an `$apply` needs none."""
        if pipeline.is_applied:
            return True
        records = self._tables.records[pipeline.entity_set.name]
        table, first = records.table, records.columns.get(pipeline.order[0].name)
        whole = [each for each in table.indexes if each.dialect_options["sqlite"]["where"] is None]
        lists = [table.primary_key.columns, *(each.columns for each in whole)]
        return any(first is column for columns in lists for column in list(columns)[:2])

    @by_shape
    def _counts(self, shape: CountShape) -> Prepared:
        pipeline, bounds = shape
        scope = self._bounded(pipeline.entity_set, bounds)
        self._transform(scope, pipeline)
        return self._prepared(scope.selecting(sa.func.count()), scope, _bounds_names(bounds))

    @by_shape
    def _set_counts(self, entity_set: EntitySet) -> Prepared:
        scope, companies = self._base(entity_set), self._tables.companies
        count = scope.selecting(sa.func.count()).scalar_subquery()
        statement = sa.select(companies.c.change_number, count).where(of_company(companies))
        return self._prepared(statement, scope, (COMPANY,))

    @by_shape
    def _related(self, shape: RelatedShape) -> Prepared:
        pipeline, navigation, count = shape
        scope = self._joined(pipeline, navigation, count)
        order = _directed_all(self._sort(scope, pipeline))
        joined = scope.column(0, navigation.on[1])
        rank = sa.func.row_number().over(partition_by=joined, order_by=order).label(_RANK)
        columns = [
            column.label(f"c_{number}") for number, column in enumerate(_row(scope, pipeline))
        ]
        inner = scope.selecting(*columns, rank, joined.label("joined")).subquery()
        statement = (
            sa.select(*(inner.c[f"c_{number}"] for number in range(len(columns))))
            .where(inner.c[_RANK] > whole("from"), inner.c[_RANK] <= whole("until"))
            .order_by(inner.c.joined, inner.c[_RANK])
        )
        names = [*_joined_names(navigation, count), "from", "until"]
        return self._prepared(statement, scope, names)

    @by_shape
    def _related_counts(self, shape: RelatedShape) -> Prepared:
        pipeline, navigation, count = shape
        scope = self._joined(pipeline, navigation, count)
        joined = scope.column(0, navigation.on[1])
        statement = scope.selecting(joined, sa.func.count()).group_by(joined)
        return self._prepared(statement, scope, _joined_names(navigation, count))

    def _prepared(
        self, statement: sa.ClauseElement, scope: SelectScope, names: Sequence[str]
    ) -> Prepared:
        prepared = prepare(statement, self._dialect.compiler, names)
        if scope.cte_count <= FEW_CTES:
            return prepared
        # the database takes long to prepare it
        return msgspec.structs.replace(prepared, costly=True)

    def _base(self, entity_set: EntitySet) -> SelectScope:
        """The records of a set, in its table or in that of the set of which it is a view."""
        records = self._tables.records[entity_set.name]
        table = records.table
        columns: dict[Name, SqlValue] = {
            (0, each.name): _value_of(records, each) for each in entity_set.type.properties
        }
        version: SqlValue = table.c[VERSION]
        if not entity_set.per_company:
            # the tag of a company has the company's own incarnation, which the path does not name
            version = table.c.incarnation + sa.literal_column("'.'") + sa.cast(version, sa.Text)
        columns[_VERSION] = version
        company = [of_company(table)] if entity_set.per_company else []
        return SelectScope([table], columns, company)

    def _json(self, entity_set: EntitySet) -> SqlValue:
        """The JSON of a record, null if it is not stored or outdated."""
        table = self._tables.records[entity_set.name].table
        encoded, version, layout = [table.c[name] for name in JSON]
        current = record_encoder(entity_set.type).layout
        return sa.case((sa.and_(version == table.c[VERSION], layout == constant(current)), encoded))

    def _bounded(self, entity_set: EntitySet, bounds: BoundsShape) -> SelectScope:
        """The records of a set within bounds."""
        keys, within = bounds
        scope = self._base(entity_set)
        for name, value in zip(within, _numbered("within", len(within)), strict=True):
            scope.conditions.append(scope.column(0, name) == named(value))
            if _is_free_when_blank(entity_set, name):
                scope.conditions.append(scope.column(0, name) != BLANK)
        if keys is not None:
            listed = [named(name) for name in _numbered("key", keys)]
            key = scope.column(0, entity_set.type.key)
            scope.conditions.append(key.in_(listed) if listed else sa.false())
        return scope

    def _joined(
        self, pipeline: Pipeline, navigation: NavigationProperty, count: int
    ) -> SelectScope:
        """The rows of a pipeline over the records that a navigation property relates to values."""
        entity_set = pipeline.entity_set
        scope = self._base(entity_set)
        joined = scope.column(0, navigation.on[1])
        scope.conditions += [
            joined.in_([named(name) for name in _numbered("value", count)]),
            *(scope.column(0, name) == named(f"only_{name}") for name in navigation.only),
        ]
        if _is_free_when_blank(entity_set, navigation.on[1]):
            scope.conditions.append(joined != BLANK)
        self._transform(scope, pipeline)
        return scope

    def _transform(self, scope: SelectScope, pipeline: Pipeline) -> None:
        """Move a scope onto the rows that the transformations of a pipeline return."""
        entity_set = pipeline.entity_set
        is_filtered = False
        for step in pipeline.transformations:
            match step:
                case Filter():
                    is_filtered = True
                    self._expressions(scope, entity_set).restrict(step.condition)
                case Compute():
                    self._compute(scope, entity_set, step.values)
                case Grouping():
                    self._group(scope, entity_set, step, is_filtered=is_filtered)
                case Limit():
                    _limit(scope, step)
            if pipeline.is_applied and scope.cte_count > MOST_CTES:
                raise refusal_rows.NESTED_QUERIES("$apply", most=MOST_CTES)

    def _sort(self, scope: SelectScope, pipeline: Pipeline) -> list[tuple[OrderKey, SqlValue]]:
        """The order of a pipeline's rows: each key with its column."""
        self._compute(scope, pipeline.entity_set, pipeline.sorting)
        return _order(scope, pipeline.order)

    def _compute(
        self, scope: SelectScope, entity_set: EntitySet, values: Sequence[NamedValue]
    ) -> None:
        columns = self._columns(scope, entity_set, values)
        for each, column in zip(values, columns, strict=True):
            scope.columns[0, each.name] = column

    def _group(
        self, scope: SelectScope, entity_set: EntitySet, step: Grouping, *, is_filtered: bool
    ) -> None:
        operands = [
            NamedValue(each.name, each.operand)
            for each in step.aggregations
            if each.operand is not None
        ]
        columns = iter(self._columns(scope, entity_set, (*step.keys, *operands)))
        expressions = self._expressions(scope, entity_set)
        grouped: dict[Name, SqlValue] = {(0, key.name): next(columns) for key in step.keys}
        keys = list(grouped.values())
        for each in step.aggregations:
            arguments = [] if each.operand is None else [next(columns)]
            grouped[0, each.name] = expressions.call(each.function, arguments)
        if is_filtered:
            # the index of the filter finds the rows, not that of the keys
            keys = [expressions.call("unindexed", [key]) for key in keys]
        scope.project(grouped, lambda rows: rows.group_by(*keys) if keys else rows)

    def _columns(
        self, scope: SelectScope, entity_set: EntitySet, values: Sequence[NamedValue]
    ) -> list[SqlValue]:
        """The columns of some values; a common table expression computes the others."""
        parts: list[tuple[Expressions, Value]] = []
        for first_slot, group in groupby(values, key=lambda each: each.first_slot):
            expressions = self._expressions(scope, entity_set, first_slot)
            computed = [each.value for each in group if not isinstance(each.value, Field)]
            expressions.split_deep(*computed)
            parts += [(expressions, value) for value in computed]
        added = {
            (_COMPUTED, str(number)): expressions.value(value)
            for number, (expressions, value) in enumerate(parts)
        }
        if added:
            scope.extend(added)
        extended = iter([scope.columns.pop(name) for name in added])
        return [
            scope.column(0, each.value.name) if isinstance(each.value, Field) else next(extended)
            for each in values
        ]

    def _expressions(
        self, scope: SelectScope, entity_set: EntitySet, first_slot: int = 0
    ) -> Expressions:
        return Expressions(self._tables, self._dialect, scope, entity_set, first_slot)


def _value_of(records: Records, declared: Property) -> SqlValue:
    """The value of a property in the row of a record."""
    shows = declared.shows
    if shows is None:
        return records.columns[declared.name]
    if shows in records.columns:
        return records.columns[shows]
    number, empty = records.table.c[VERSION], constant_text(str(declared.type.default))
    return sa.cast(number if shows == LAST_CHANGE else empty, column_type(declared))


def _row(scope: SelectScope, pipeline: Pipeline) -> list[SqlValue]:
    """The columns of a row, as `Pipeline` describes it."""
    if pipeline.as_json:
        return [scope.columns[_JSON]]
    names = [*pipeline.property_columns, *(each.name for each in pipeline.columns)]
    names += [key.name for key in pipeline.appended]
    has_no_version = pipeline.is_aggregated or pipeline.names == ()
    version = [] if has_no_version else [scope.columns[_VERSION]]
    return [*version, *(scope.column(0, name) for name in names)]


def _limit(scope: SelectScope, step: Limit) -> None:
    order = _directed_all(_order(scope, step.order))
    limit, skip = slot_of(step.limit), slot_of(step.skip)
    scope.project(dict(scope.columns), lambda rows: rows.order_by(*order).limit(limit).offset(skip))


def _order(scope: SelectScope, order: Sequence[OrderKey]) -> list[tuple[OrderKey, SqlValue]]:
    return [(key, scope.column(0, key.name)) for key in order]


def _directed_all(order: Sequence[tuple[OrderKey, SqlValue]]) -> list[UnaryExpression[str | int]]:
    return [_directed(key, column) for key, column in order]


def _directed(key: OrderKey, column: SqlValue) -> UnaryExpression[str | int]:
    sorting = column.desc() if key.descending else column.asc()
    if key.nullable:
        return sorting.nulls_last() if key.descending else sorting.nulls_first()
    return sorting


def _is_mixed(order: Sequence[tuple[OrderKey, SqlValue]]) -> bool:
    """Whether keys have different directions, so that no index has the order of all of them."""
    return len({key.descending for key, _ in order}) > 1


def _after_keyset(order: Sequence[tuple[OrderKey, SqlValue]]) -> sa.ColumnElement[bool]:
    """Whether a row comes after the keyset, as a condition that enters an index of the order.

    Keys of one direction are compared as a row, which enters the index at the keyset. Others enter
    it at the first key.
    """
    keys, columns = zip(*order, strict=True)
    values = list(map(named, _numbered("keyset", len(keys))))
    first = keys[0]
    if not _is_mixed(order) and not any(each.nullable for each in keys):
        found, kept = sa.tuple_(*columns), sa.tuple_(*values)
        return found < kept if first.descending else found > kept
    differs = _first_difference(order)
    if first.nullable:
        return differs
    reached = columns[0] <= values[0] if first.descending else columns[0] >= values[0]
    return sa.and_(reached, differs)


def _first_difference(order: Sequence[tuple[OrderKey, SqlValue]]) -> sa.ColumnElement[bool]:
    """Whether a row comes after the keyset by the first key in which they differ."""
    cases: list[sa.ColumnElement[bool]] = []
    equal: list[sa.ColumnElement[bool]] = []
    for (key, column), name in zip(order, _numbered("keyset", len(order)), strict=True):
        value = named(name)
        after = column < value if key.descending else column > value
        same = column == value
        if key.nullable:
            # null comes first, and last when the order descends
            is_null, value_given = column.is_(None), value.is_not(None)
            if key.descending:
                after = sa.or_(after, sa.and_(is_null, value_given))
            else:
                after = sa.or_(after, sa.not_(sa.or_(is_null, value_given)))
            same = column.is_not_distinct_from(value)
        cases.append(sa.and_(*equal, after))
        equal.append(same)
    return sa.or_(*cases)


def _is_free_when_blank(entity_set: EntitySet, name: str) -> bool:
    """Whether the index of a property omits blank values.

    The database uses such an index only for a statement that excludes blank values too.
    """
    return any(each.blank_is_free and name in each.properties for each in entity_set.type.unique)


def _shape(bounds: Bounds) -> BoundsShape:
    keys = None if bounds.keys is None else len(bounds.keys)
    return keys, tuple([name for name, _ in bounds.within])


def _bounds_names(bounds: BoundsShape) -> list[str]:
    keys, within = bounds
    return [COMPANY, *_numbered("within", len(within)), *_numbered("key", keys or 0)]


def _bounds_values(bounds: Bounds) -> list[Stored]:
    return [bounds.company_id, *[value for _, value in bounds.within], *(bounds.keys or ())]


def _joined_names(navigation: NavigationProperty, count: int) -> list[str]:
    return [COMPANY, *(f"only_{name}" for name in navigation.only), *_numbered("value", count)]


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}_{number}" for number in range(count)]
