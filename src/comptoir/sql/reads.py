"""Statements that read records, each compiled once per shape of its plan."""

from sqlalchemy import ColumnElement, and_, false, func, or_, select
from sqlalchemy.engine import Dialect

from comptoir.edm.model import EntitySet, Model
from comptoir.edm.primitive import Stored
from comptoir.plan.bound import Condition
from comptoir.plan.read import CountPlan, OrderKey, PagePlan, RecordPlan, Within
from comptoir.sql.conditions import conditioned
from comptoir.sql.functions import FunctionTable
from comptoir.sql.prepared import BLANK, Prepared, Query, constant, kept, named, prepare
from comptoir.sql.source import Source, is_free_when_blank, table_source
from comptoir.sql.tables import Tables

Keys = int | None
Names = tuple[str, ...]
PageShape = tuple[EntitySet, Condition | None, tuple[OrderKey, ...], bool, Keys, Names, bool]
CountShape = tuple[EntitySet, Condition | None, Keys, Names]


class ReadStatements:
    """Builds and keeps the statements that read the records of a model's sets."""

    def __init__(
        self, model: Model, tables: Tables, dialect: Dialect, functions: FunctionTable
    ) -> None:
        self._tables = tables
        self._dialect = dialect
        self._functions = functions
        self._sources = {each: table_source(tables, each) for each in model.sets}
        self._records = {each: self._build_record(each) for each in model.sets}
        self._pages: dict[PageShape, Prepared] = {}
        self._counts: dict[CountShape, Prepared] = {}

    def record(self, plan: RecordPlan) -> Query:
        """The statement that reads one record: no row, or one."""
        company = plan.company.id if plan.company else ""
        prepared = self._records[plan.entity_set]
        return prepared.query(company, plan.key)

    def page(self, plan: PagePlan) -> Query:
        """The statement that reads the rows of a page, in order."""
        company = plan.company.id if plan.company else ""
        keys = None if plan.keys is None else len(plan.keys)
        seeks, names, inner = plan.seek is not None, _names(plan.within), _values(plan.within)
        where = plan.where
        shape = (plan.entity_set, where.condition, plan.order, seeks, keys, names, plan.skip > 0)
        prepared = kept(self._pages, shape, self._build_page)
        seek = plan.seek or ()
        values = (company, plan.limit, plan.skip, *inner, *seek, *(plan.keys or ()), *where.values)
        return prepared.query(*values)

    def count(self, plan: CountPlan) -> Query:
        """The statement that counts: one row with one number."""
        company = plan.company.id if plan.company else ""
        keys = None if plan.keys is None else len(plan.keys)
        shape = (plan.entity_set, plan.where.condition, keys, _names(plan.within))
        prepared = kept(self._counts, shape, self._build_count)
        values = (company, *_values(plan.within), *(plan.keys or ()), *plan.where.values)
        return prepared.query(*values)

    def _build_record(self, entity_set: EntitySet) -> Prepared:
        source = self._sources[entity_set]
        statement = select(*source.row).where(*_under_company(source), source.key == named("key"))
        return prepare(statement, self._dialect, ("company", "key"))

    def _build_page(self, shape: PageShape) -> Prepared:
        entity_set, condition, order, seeks, keys, within, skips = shape
        source, holds = self._conditioned(entity_set, condition, keys, within)
        statement = select(*source.row).where(*_under_company(source), *holds)
        names = ["company", "limit", "skip", *_within_names(within)]
        if seeks:
            names += [f"seek_{number}" for number in range(len(order))]
            statement = statement.where(_behind(source, order))
        names += _key_names(keys)
        statement = (
            statement.order_by(
                *(
                    source.columns[each.name].desc()
                    if each.descending
                    else source.columns[each.name]
                    for each in order
                )
            )
            .limit(named("limit"))
            .offset(named("skip") if skips else constant(0))
        )
        return prepare(statement, self._dialect, names)

    def _build_count(self, shape: CountShape) -> Prepared:
        entity_set, condition, keys, within = shape
        source, holds = self._conditioned(entity_set, condition, keys, within)
        statement = select(func.count()).select_from(source.clause)
        statement = statement.where(*_under_company(source), *holds)
        names = ["company", *_within_names(within), *_key_names(keys)]
        return prepare(statement, self._dialect, names)

    def _conditioned(
        self, entity_set: EntitySet, condition: Condition | None, keys: Keys, within: Names
    ) -> tuple[Source, list[ColumnElement[bool]]]:
        source = self._sources[entity_set]
        holds: list[ColumnElement[bool]] = []
        if condition is not None:
            source, held = conditioned(condition, source, self._tables, self._functions)
            holds.append(held)
        for name, place in zip(within, _within_names(within), strict=True):
            holds.append(source.columns[name] == named(place))
            if is_free_when_blank(entity_set, name):
                # its index is partial, and only a statement that says so may use it
                holds.append(source.columns[name] != BLANK)
        if keys is not None:
            listed = [named(name) for name in _key_names(keys)]
            holds.append(source.key.in_(listed) if listed else false())
        return source, holds


def _names(within: Within) -> Names:
    return tuple([name for name, _ in within]) if within else ()


def _values(within: Within) -> tuple[Stored, ...]:
    return tuple([value for _, value in within]) if within else ()


def _within_names(within: Names) -> list[str]:
    return [f"within_{number}" for number in range(len(within))]


def _key_names(keys: Keys) -> list[str]:
    return [f"key_{number}" for number in range(keys or 0)]


def _under_company(source: Source) -> list[ColumnElement[bool]]:
    return [source.company == named("company")] if source.entity_set.per_company else []


def _behind(source: Source, order: tuple[OrderKey, ...]) -> ColumnElement[bool]:
    """Whether a row stands behind the sought one: by the first key in which they differ."""
    cases: list[ColumnElement[bool]] = []
    equal: list[ColumnElement[bool]] = []
    for number, each in enumerate(order):
        column, sought = source.columns[each.name], named(f"seek_{number}")
        cases.append(and_(*equal, column < sought if each.descending else column > sought))
        equal.append(column == sought)
    return or_(*cases)
