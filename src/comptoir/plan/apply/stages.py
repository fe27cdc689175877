"""What a pipeline does with a set's records, stage by stage; what reads its result.

Each stage makes of rows other rows, whose values have names: the properties of the records and
what was computed beside them, and behind the first grouping, what is grouped by and aggregated.
"""

import msgspec

from comptoir.edm.model import Company, EntitySet
from comptoir.edm.types import PrimitiveType, Stored
from comptoir.plan.expressions.nodes import Condition, Slot, Value
from comptoir.plan.functions import AggregateFunction
from comptoir.plan.read import OrderTerm, Row, Seek, Within

Terms = tuple[OrderTerm, ...]


class Narrowed(msgspec.Struct, frozen=True):
    """The rows for which a condition holds."""

    condition: Condition


class Extended(msgspec.Struct, frozen=True):
    """The rows with further values, each with its name."""

    values: tuple[tuple[str, Value], ...]


class Aggregation(msgspec.Struct, frozen=True):
    """A name, and what an aggregate function of the dialect makes of the rows of a group.

    Without an operand the rows themselves are counted.
    """

    name: str
    function: AggregateFunction
    operand: Value | None


class Grouped(msgspec.Struct, frozen=True):
    """A row for each group of rows that are alike in the keys; without keys one row for all."""

    keys: tuple[tuple[str, Value], ...]
    aggregations: tuple[Aggregation, ...]


class Cut(msgspec.Struct, frozen=True):
    """The first rows in an order, behind those that are skipped; the terms are without values."""

    order: Terms
    limit: Slot
    skip: Slot


Stage = Narrowed | Extended | Grouped | Cut


class ResultColumn(msgspec.Struct, frozen=True):
    """A value of the result: its name, or the path at whose end it stands, and its type."""

    path: tuple[str, ...]
    type: PrimitiveType
    nullable: bool

    @property
    def name(self) -> str:
        """The name by which expressions know the value."""
        return "/".join(self.path)


class Pipeline(msgspec.Struct, frozen=True):
    """The stages of a set's records, the values for their slots, and what comes out of them.

    `columns` are all values of an aggregated result, and those beside the properties otherwise;
    no two rows of the result are equal in `order`. `searches`: a stage takes its time whatever
    it finds.
    """

    entity_set: EntitySet
    stages: tuple[Stage, ...]
    values: tuple[Stored, ...]
    columns: tuple[ResultColumn, ...]
    order: Terms
    aggregated: bool
    searches: bool


class PipelinePlan(msgspec.Struct, frozen=True):
    """Rows of a pipeline's result, in its order, from behind the row with the values of `seek`.

    It is of the records with these keys and values, or of all. `limit` is how many rows to fetch,
    behind the first `skip`. A row has the values of the columns, those of records behind their
    versions and properties; then those of the order.
    """

    pipeline: Pipeline
    company: Company | None
    keys: tuple[Stored, ...] | None
    within: Within
    seek: Seek | None
    limit: int
    skip: int

    @property
    def entity_set(self) -> EntitySet:
        """The set of the records."""
        return self.pipeline.entity_set

    @property
    def searches(self) -> bool:
        """Whether a stage searches, which takes its time whatever it finds."""
        return self.pipeline.searches

    def seek_behind(self, row: Row) -> Seek:
        """The values of a row that a page which continues behind it seeks."""
        return row[len(row) - len(self.pipeline.order) :]


class PipelineCount(msgspec.Struct, frozen=True):
    """How many rows a pipeline's result has, of the records with these keys and values."""

    pipeline: Pipeline
    company: Company | None
    keys: tuple[Stored, ...] | None
    within: Within

    @property
    def entity_set(self) -> EntitySet:
        """The set of the records."""
        return self.pipeline.entity_set

    @property
    def searches(self) -> bool:
        """Whether a stage searches, which takes its time whatever it finds."""
        return self.pipeline.searches
