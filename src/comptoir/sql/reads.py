"""Statements that read records, each compiled once per shape of its plan."""

from sqlalchemy import func

from comptoir.edm.model import EntitySet, Model
from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import Value
from comptoir.plan.read import CountPlan, PagePlan, RecordPlan, Within
from comptoir.sql.dialects import Dialect
from comptoir.sql.expressions import COMPANY
from comptoir.sql.prepared import Kept, Prepared, Query, constant, named, prepare, whole
from comptoir.sql.records import (
    Beside,
    RecordScopes,
    Terms,
    behind,
    beside_of,
    directed,
    key_names,
    order,
    row,
    seek_names,
    terms_of,
    values_beside,
    within_names,
)
from comptoir.sql.tables import Tables

Keys = int | None
Names = tuple[str, ...]
RecordShape = tuple[EntitySet, Beside]
Held = tuple[Value | None, int]
"""A condition, and how many values it has where others follow them."""

CountShape = tuple[EntitySet, Held, Keys, Names, Beside]
PageShape = tuple[EntitySet, Held, Keys, Names, Beside, Terms, bool, bool]


class ReadStatements:
    """Builds and keeps the statements that read the records of a model's sets."""

    def __init__(self, model: Model, tables: Tables, dialect: Dialect) -> None:
        self._compiler = dialect.compiler
        self._scopes = RecordScopes(tables, dialect)
        self._records = {each: self._build_record((each, ())) for each in model.sets}
        self._computed = Kept(self._build_record)
        self._pages = Kept(self._build_page)
        self._counts = Kept(self._build_count)

    def record(self, plan: RecordPlan) -> Query:
        """The statement that reads one record: no row, or one."""
        company = plan.company.id if plan.company else ""
        if not plan.computed:
            return self._records[plan.entity_set].query(company, plan.key)
        shape = (plan.entity_set, beside_of(plan.computed))
        prepared = self._computed[shape]
        return prepared.query(company, plan.key, *values_beside(plan.computed))

    def page(self, plan: PagePlan) -> Query:
        """The statement that reads the rows of a page, in order."""
        company = plan.company.id if plan.company else ""
        keys = None if plan.keys is None else len(plan.keys)
        names, inner = _names(plan.within), _values(plan.within)
        where, computed = plan.where, plan.computed
        beside = beside_of(computed) if computed else ()
        terms, term_values = terms_of(plan.order)
        seeks, skips = plan.seek is not None, plan.skip > 0
        held = (where.condition, len(where.values) if beside or term_values else 0)
        shape = (plan.entity_set, held, keys, names, beside, terms, seeks, skips)
        prepared = self._pages[shape]
        return prepared.query(
            company,
            plan.limit,
            plan.skip,
            *inner,
            *(plan.seek or ()),
            *(plan.keys or ()),
            *where.values,
            *(values_beside(computed) if computed else ()),
            *term_values,
        )

    def count(self, plan: CountPlan) -> Query:
        """The statement that counts: one row with one number."""
        company = plan.company.id if plan.company else ""
        keys = None if plan.keys is None else len(plan.keys)
        beside = beside_of(plan.computed)
        held = (plan.where.condition, len(plan.where.values))
        shape = (plan.entity_set, held, keys, _names(plan.within), beside)
        prepared = self._counts[shape]
        return prepared.query(
            company,
            *_values(plan.within),
            *(plan.keys or ()),
            *plan.where.values,
            *values_beside(plan.computed),
        )

    def _build_record(self, shape: RecordShape) -> Prepared:
        entity_set, beside = shape
        scope = self._scopes.scope(entity_set)
        scope.conditions.append(scope.column(0, entity_set.type.key) == named("key"))
        self._scopes.compute(scope, entity_set, beside, 0)
        statement = scope.selecting(*row(scope, entity_set, beside, ()))
        return prepare(statement, self._compiler, (COMPANY, "key"))

    def _build_page(self, shape: PageShape) -> Prepared:
        entity_set, (condition, values), keys, within, beside, terms, seeks, skips = shape
        scope = self._scopes.narrowed(entity_set, keys, within)
        first = self._scopes.compute(scope, entity_set, beside, values)
        self._scopes.sort(scope, entity_set, terms, first)
        self._scopes.restrict(scope, entity_set, condition)
        columns = order(scope, terms)
        names = [COMPANY, "limit", "skip", *within_names(within)]
        if seeks:
            names += seek_names(len(columns))
            scope.conditions.append(behind(columns))
        statement = (
            scope.selecting(*row(scope, entity_set, beside, terms))
            .order_by(*[directed(term, column) for term, column in columns])
            .limit(whole("limit"))
            .offset(whole("skip") if skips else constant(0))
        )
        return prepare(statement, self._compiler, [*names, *key_names(keys)])

    def _build_count(self, shape: CountShape) -> Prepared:
        entity_set, (condition, values), keys, within, beside = shape
        scope = self._scopes.narrowed(entity_set, keys, within)
        self._scopes.compute(scope, entity_set, beside, values)
        self._scopes.restrict(scope, entity_set, condition)
        names = [COMPANY, *within_names(within), *key_names(keys)]
        return prepare(scope.selecting(func.count()), self._compiler, names)


def _names(within: Within) -> Names:
    return tuple([name for name, _ in within]) if within else ()


def _values(within: Within) -> tuple[Stored, ...]:
    return tuple([value for _, value in within]) if within else ()
