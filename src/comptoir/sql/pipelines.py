"""Pipelines of `$apply` to SQL: each grouping and each cut is a common table expression.

So a statement is as long as its pipeline, and no deeper.
"""

from collections.abc import Sequence

import msgspec
from sqlalchemy import ClauseElement, func

from comptoir.edm.model import EntitySet
from comptoir.errors import NOT_IMPLEMENTED, Refusal
from comptoir.plan.apply.stages import (
    Cut,
    Extended,
    Grouped,
    Narrowed,
    Pipeline,
    PipelineCount,
    PipelinePlan,
    Stage,
)
from comptoir.plan.apply.stages import Terms as SortedBy
from comptoir.plan.expressions.nodes import Field, Value
from comptoir.sql.dialects import Dialect
from comptoir.sql.expressions import COMPANY, Expressions
from comptoir.sql.prepared import Kept, Prepared, Query, prepare, slot_of, whole
from comptoir.sql.records import (
    VERSION_NAME,
    RecordScopes,
    Term,
    behind,
    directed,
    key_names,
    seek_names,
    within_names,
)
from comptoir.sql.select_scope import Name, SelectScope, SqlValue
from comptoir.sql.tables import Tables

FEW_STAGES = 10
"""Up to how many stages a statement may be run in the event loop: more take long to prepare."""

MOST_STAGES = 50
"""How many stages a statement may have: building one takes longer the more there are."""


class PipelineShape(msgspec.Struct, frozen=True):
    """All of a pipeline that its statement depends on."""

    entity_set: EntitySet
    stages: tuple[Stage, ...]
    names: tuple[str, ...]
    order: SortedBy
    aggregated: bool
    keys: int | None
    within: tuple[str, ...]
    seeks: bool = False


class PipelineStatements:
    """Builds and keeps the statements that read what pipelines make of records."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._compiler = dialect.compiler
        self._dialect = dialect
        self._scopes = RecordScopes(tables, dialect)
        self._pages = Kept(self._build_page)
        self._counts = Kept(self._build_count)

    def page(self, plan: PipelinePlan) -> Query:
        """The statement that reads the rows of a page, in order."""
        shape = _shape(plan.pipeline, plan, seeks=plan.seek is not None)
        prepared = self._pages[shape]
        return prepared.query(
            plan.company.id if plan.company else "",
            plan.limit,
            plan.skip,
            *[value for _, value in plan.within],
            *(plan.seek or ()),
            *(plan.keys or ()),
            *plan.pipeline.values,
        )

    def count(self, plan: PipelineCount) -> Query:
        """The statement that counts the rows of a result: one row with one number."""
        shape = _shape(plan.pipeline, plan)
        prepared = self._counts[shape]
        return prepared.query(
            plan.company.id if plan.company else "",
            *[value for _, value in plan.within],
            *(plan.keys or ()),
            *plan.pipeline.values,
        )

    def _build_page(self, shape: PipelineShape) -> Prepared:
        scope = self._scope(shape)
        columns = _sorted(scope, shape.order)
        names = [COMPANY, "limit", "skip", *within_names(shape.within)]
        if shape.seeks:
            names += seek_names(len(columns))
            scope.conditions.append(behind(columns))
        own = () if shape.aggregated else shape.entity_set.type.by_name
        values = [scope.column(0, name) for name in (*own, *shape.names)]
        if not shape.aggregated:
            values.insert(0, scope.columns[VERSION_NAME])
        statement = (
            scope.selecting(*values, *[column for _, column in columns])
            .order_by(*[directed(term, column) for term, column in columns])
            .limit(whole("limit"))
            .offset(whole("skip"))
        )
        return self._prepared(statement, scope, [*names, *key_names(shape.keys)])

    def _build_count(self, shape: PipelineShape) -> Prepared:
        scope = self._scope(shape)
        names = [COMPANY, *within_names(shape.within), *key_names(shape.keys)]
        return self._prepared(scope.selecting(func.count()), scope, names)

    def _prepared(
        self, statement: ClauseElement, scope: SelectScope, names: Sequence[str]
    ) -> Prepared:
        prepared = prepare(statement, self._compiler, names)
        if scope.cte_count <= FEW_STAGES:
            return prepared
        return msgspec.structs.replace(prepared, costly=True)

    def _scope(self, shape: PipelineShape) -> SelectScope:
        scope = self._scopes.narrowed(shape.entity_set, shape.keys, shape.within)
        expressions = Expressions(self._tables, self._dialect, shape.entity_set)
        is_filtered = False
        for stage in shape.stages:
            match stage:
                case Narrowed():
                    is_filtered = True
                    expressions.restrict(scope, stage.condition)
                case Extended():
                    values = [value for _, value in stage.values]
                    for (name, _), column in zip(
                        stage.values, _columns(expressions, scope, values), strict=True
                    ):
                        scope.columns[0, name] = column
                case Grouped():
                    self._group(expressions, scope, stage, is_filtered=is_filtered)
                case Cut():
                    _cut(scope, stage)
            if scope.cte_count > MOST_STAGES:
                raise Refusal(
                    NOT_IMPLEMENTED,
                    f"$apply takes more than {MOST_STAGES} stages to compute. Nest its expressions "
                    "less deeply, or compute several at once, with commas between them.",
                    target="$apply",
                )
        return scope

    def _group(
        self, expressions: Expressions, scope: SelectScope, stage: Grouped, *, is_filtered: bool
    ) -> None:
        """Move a scope onto the groups of its rows; filtered ones are found by their filter."""
        operands = [each.operand for each in stage.aggregations if each.operand is not None]
        values = [*(value for _, value in stage.keys), *operands]
        columns = iter(_columns(expressions, scope, values))
        keys = [next(columns) for _ in stage.keys]
        grouped: dict[Name, SqlValue] = {
            (0, name): column for (name, _), column in zip(stage.keys, keys, strict=True)
        }
        for each in stage.aggregations:
            arguments = [] if each.operand is None else [next(columns)]
            grouped[0, each.name] = expressions.call(each.function, arguments)
        by = [expressions.call("unindexed", [each]) for each in keys] if is_filtered else keys
        scope.project(grouped, lambda statement: statement.group_by(*by) if by else statement)


def _shape(
    pipeline: Pipeline, plan: PipelinePlan | PipelineCount, *, seeks: bool = False
) -> PipelineShape:
    return PipelineShape(
        pipeline.entity_set,
        pipeline.stages,
        tuple([each.name for each in pipeline.columns]),
        pipeline.order,
        pipeline.aggregated,
        None if plan.keys is None else len(plan.keys),
        tuple([name for name, _ in plan.within]),
        seeks,
    )


def _columns(
    expressions: Expressions, scope: SelectScope, values: Sequence[Value]
) -> list[SqlValue]:
    """The columns of some values, of which those that are computed move the scope onto a CTE."""
    computed = [each for each in values if not isinstance(each, Field)]
    expressions.split_deep(scope, *computed)
    columns = [expressions.value(scope, each) for each in computed]
    staged = iter(scope.extend({}, columns) if columns else ())
    return [
        scope.column(0, each.name) if isinstance(each, Field) else next(staged) for each in values
    ]


def _cut(scope: SelectScope, stage: Cut) -> None:
    """Move a scope onto some of its rows, in an order."""
    sorting = [directed(term, column) for term, column in _sorted(scope, stage.order)]
    limit, skip = slot_of(stage.limit), slot_of(stage.skip)
    scope.project(
        dict(scope.columns),
        lambda statement: statement.order_by(*sorting).limit(limit).offset(skip),
    )


def _sorted(scope: SelectScope, order: SortedBy) -> list[tuple[Term, SqlValue]]:
    return [
        (Term(each.value, each.nullable, each.descending, 0), _column(scope, each.value))
        for each in order
    ]


def _column(scope: SelectScope, value: Value) -> SqlValue:
    if not isinstance(value, Field):
        raise LookupError("results are sorted by values that have names")
    return scope.column(0, value.name)
