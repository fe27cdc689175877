"""Statements that read related records: of many records at once, never one statement each."""

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.engine import Dialect

from comptoir.edm.entity import NavigationProperty
from comptoir.edm.model import EntitySet, Model
from comptoir.edm.primitive import Stored
from comptoir.plan.bound import Condition
from comptoir.plan.read import OrderKey
from comptoir.plan.related import RelatedPlan
from comptoir.plan.slots import padded
from comptoir.sql.conditions import conditioned
from comptoir.sql.functions import FunctionTable
from comptoir.sql.prepared import BLANK, Prepared, Query, kept, named, prepare
from comptoir.sql.source import Source, is_free_when_blank, table_source
from comptoir.sql.tables import Tables

_PLACE = "place_among_related"

RelatedShape = tuple[NavigationProperty, EntitySet, Condition | None, tuple[OrderKey, ...], int]
CountShape = tuple[NavigationProperty, EntitySet, Condition | None, int]


class RelatedStatements:
    """Builds and keeps the statements that read the records to which navigation leads."""

    def __init__(
        self, model: Model, tables: Tables, dialect: Dialect, functions: FunctionTable
    ) -> None:
        self._tables = tables
        self._dialect = dialect
        self._functions = functions
        self._sources = {each: table_source(tables, each) for each in model.sets}
        self._rows: dict[RelatedShape, Prepared] = {}
        self._counts: dict[CountShape, Prepared] = {}

    def rows(self, plan: RelatedPlan) -> Query:
        """The statement that reads related records, those of one value together and in order."""
        page, values = plan.page, padded(plan.values)
        condition = page.where.condition
        shape = (plan.navigation, page.entity_set, condition, page.order, len(values))
        prepared = kept(self._rows, shape, self._build_rows)
        until = page.skip + plan.limit
        return prepared.query(_company(plan), page.skip, until, *_only(plan), *values, *_rest(plan))

    def counts(self, plan: RelatedPlan) -> Query:
        """The statement that gives values, and how many records are related to each."""
        values = padded(plan.values)
        shape = (plan.navigation, plan.page.entity_set, plan.page.where.condition, len(values))
        prepared = kept(self._counts, shape, self._build_counts)
        return prepared.query(_company(plan), *_only(plan), *values, *_rest(plan))

    def _build_rows(self, shape: RelatedShape) -> Prepared:
        navigation, entity_set, condition, order, count = shape
        source, holds = self._related(navigation, entity_set, condition, count)
        joined = source.columns[navigation.on[1]]
        sorting = [
            source.columns[each.name].desc() if each.descending else source.columns[each.name]
            for each in order
        ]
        place = func.row_number().over(partition_by=joined, order_by=sorting).label(_PLACE)
        columns = [column.label(f"c_{at}") for at, column in enumerate(source.row)]
        inner = select(*columns, place, joined.label("joined")).where(holds).subquery()
        statement = (
            select(*(inner.c[f"c_{at}"] for at in range(len(columns))))
            .where(inner.c[_PLACE] > named("from"), inner.c[_PLACE] <= named("until"))
            .order_by(inner.c.joined, inner.c[_PLACE])
        )
        names = ["company", "from", "until", *_names(navigation, count)]
        return prepare(statement, self._dialect, names)

    def _build_counts(self, shape: CountShape) -> Prepared:
        navigation, entity_set, condition, count = shape
        source, holds = self._related(navigation, entity_set, condition, count)
        joined = source.columns[navigation.on[1]]
        statement = select(joined, func.count()).select_from(source.clause).where(holds)
        names = ["company", *_names(navigation, count)]
        return prepare(statement.group_by(joined), self._dialect, names)

    def _related(
        self,
        navigation: NavigationProperty,
        entity_set: EntitySet,
        condition: Condition | None,
        count: int,
    ) -> tuple[Source, ColumnElement[bool]]:
        source = self._sources[entity_set]
        held = None
        if condition is not None:
            source, held = conditioned(condition, source, self._tables, self._functions)
        joined = source.columns[navigation.on[1]]
        holds = [
            source.company == named("company"),
            joined.in_([named(f"value_{number}") for number in range(count)]),
            *(source.columns[name] == named(f"only_{name}") for name in navigation.only),
        ]
        if is_free_when_blank(entity_set, navigation.on[1]):
            holds.append(joined != BLANK)
        return source, and_(*holds, *([] if held is None else [held]))


def _company(plan: RelatedPlan) -> str:
    return plan.page.company.id if plan.page.company else ""


def _only(plan: RelatedPlan) -> tuple[Stored, ...]:
    return tuple(plan.navigation.only.values())


def _rest(plan: RelatedPlan) -> tuple[Stored, ...]:
    return plan.page.where.values


def _names(navigation: NavigationProperty, count: int) -> list[str]:
    return [
        *(f"only_{name}" for name in navigation.only),
        *(f"value_{number}" for number in range(count)),
    ]
