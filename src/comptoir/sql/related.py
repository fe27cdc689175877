"""Statements that read related records: of many records at once, never one statement each."""

from sqlalchemy import func, select

from comptoir.edm.model import EntitySet, NavigationProperty
from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import Value, padded
from comptoir.plan.read import RelatedPlan
from comptoir.sql.dialects import Dialect
from comptoir.sql.expressions import COMPANY
from comptoir.sql.prepared import BLANK, Kept, Prepared, Query, named, prepare, whole
from comptoir.sql.records import (
    RecordScopes,
    Terms,
    directed,
    is_free_when_blank,
    order,
    row,
    terms_of,
)
from comptoir.sql.select_scope import SelectScope
from comptoir.sql.tables import Tables

_PLACE = "place_among_related"

RelatedShape = tuple[NavigationProperty, EntitySet, Value | None, int, Terms, int]
CountShape = tuple[NavigationProperty, EntitySet, Value | None, int]


class RelatedStatements:
    """Builds and keeps the statements that read the records to which navigation leads."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._compiler = dialect.compiler
        self._scopes = RecordScopes(tables, dialect)
        self._rows = Kept(self._build_rows)
        self._counts = Kept(self._build_counts)

    def rows(self, plan: RelatedPlan) -> Query:
        """The statement that reads related records, those of one value together and in order."""
        page, values = plan.page, padded(plan.values)
        terms, term_values = terms_of(page.order)
        held, behind = page.where, len(page.where.values)
        shape = (plan.navigation, page.entity_set, held.condition, behind, terms, len(values))
        prepared = self._rows[shape]
        return prepared.query(
            _company(plan),
            page.skip,
            page.skip + plan.limit,
            *_only(plan),
            *values,
            *held.values,
            *term_values,
        )

    def counts(self, plan: RelatedPlan) -> Query:
        """The statement that gives values, and how many records are related to each."""
        values = padded(plan.values)
        where = plan.page.where
        shape = (plan.navigation, plan.page.entity_set, where.condition, len(values))
        prepared = self._counts[shape]
        return prepared.query(_company(plan), *_only(plan), *values, *where.values)

    def _build_rows(self, shape: RelatedShape) -> Prepared:
        navigation, entity_set, condition, behind, terms, count = shape
        scope = self._related(navigation, entity_set, count)
        self._scopes.sort(scope, entity_set, terms, behind)
        self._scopes.restrict(scope, entity_set, condition)
        joined = scope.column(0, navigation.on[1])
        sorting = [directed(term, column) for term, column in order(scope, terms)]
        place = func.row_number().over(partition_by=joined, order_by=sorting).label(_PLACE)
        columns = [
            column.label(f"c_{at}") for at, column in enumerate(row(scope, entity_set, (), terms))
        ]
        inner = scope.selecting(*columns, place, joined.label("joined")).subquery()
        statement = (
            select(*(inner.c[f"c_{at}"] for at in range(len(columns))))
            .where(inner.c[_PLACE] > whole("from"), inner.c[_PLACE] <= whole("until"))
            .order_by(inner.c.joined, inner.c[_PLACE])
        )
        names = [COMPANY, "from", "until", *_names(navigation, count)]
        return prepare(statement, self._compiler, names)

    def _build_counts(self, shape: CountShape) -> Prepared:
        navigation, entity_set, condition, count = shape
        scope = self._related(navigation, entity_set, count)
        self._scopes.restrict(scope, entity_set, condition)
        joined = scope.column(0, navigation.on[1])
        statement = scope.selecting(joined, func.count()).group_by(joined)
        return prepare(statement, self._compiler, [COMPANY, *_names(navigation, count)])

    def _related(
        self, navigation: NavigationProperty, entity_set: EntitySet, count: int
    ) -> SelectScope:
        scope = self._scopes.scope(entity_set)
        joined = scope.column(0, navigation.on[1])
        scope.conditions += [
            joined.in_([named(f"value_{number}") for number in range(count)]),
            *(scope.column(0, name) == named(f"only_{name}") for name in navigation.only),
        ]
        if is_free_when_blank(entity_set, navigation.on[1]):
            scope.conditions.append(joined != BLANK)
        return scope


def _company(plan: RelatedPlan) -> str:
    return plan.page.company.id if plan.page.company else ""


def _only(plan: RelatedPlan) -> tuple[Stored, ...]:
    return tuple(plan.navigation.only.values())


def _names(navigation: NavigationProperty, count: int) -> list[str]:
    return [
        *(f"only_{name}" for name in navigation.only),
        *(f"value_{number}" for number in range(count)),
    ]
