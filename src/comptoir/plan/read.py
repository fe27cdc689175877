"""Plans of reads: one record, related records, a page or a count of the rows of a pipeline.

A list is a pipeline without `$apply`: it computes, filters and sorts the records of a set.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import cast

import msgspec

from comptoir.edm.model import Company, EntitySet, NavigationProperty
from comptoir.edm.record_json import record_encoder
from comptoir.edm.types import PrimitiveType, Stored
from comptoir.plan.expressions.nodes import Condition, Slot, Value
from comptoir.plan.expressions.types import FunctionName

CACHED_LISTS = 500
"""The number of pipelines of lists that are kept, with their hashes, for further requests."""

Row = tuple[Stored, ...]
"""A row as read. A record's row is its version, then its properties in the contract's order.

The value of a row of JSON (see `Pipeline`) is bytes, which `json_of` returns.
"""

Keyset = tuple[Stored | None, ...]
"""The values of a row that its order sorts by: the next page starts after them."""

Within = tuple[tuple[str, Stored], ...]
"""Properties and the values that they must have."""


class OrderKey(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A value to sort by, by its name. Null comes first, or last if `descending`.

    `text`: the stored values are texts, otherwise integers.
    """

    name: str
    text: bool
    descending: bool = False
    nullable: bool = False


class NamedValue(msgspec.Struct, frozen=True, gc=False):
    """An expression and the name of its value; its slots are counted from `first_slot`."""

    name: str
    value: Value
    first_slot: int = 0


class Order(msgspec.Struct, frozen=True, gc=False):
    """A total order: its keys, and the expressions among them with the values for their slots."""

    keys: tuple[OrderKey, ...]
    expressions: tuple[NamedValue, ...] = ()
    values: tuple[Stored, ...] = ()


class Column(msgspec.Struct, frozen=True, gc=False):
    """A value of a row that is not a property of the record.

    `name` is an alias, or the path of a related record's property that rows are grouped by.
    """

    name: str
    type: PrimitiveType
    nullable: bool

    @property
    def path(self) -> tuple[str, ...]:
        """The segments of the name."""
        return tuple(self.name.split("/"))


class ComputedProperty(Column, frozen=True, gc=False):
    """A property that `$compute` adds; `values` are those of its slots.

    `longest` is the most characters of the value when it is written as text.
    """

    value: Value
    longest: float
    values: tuple[Stored, ...] = ()


Computed = tuple[ComputedProperty, ...]


class Where(msgspec.Struct, frozen=True, gc=False):
    """A condition and the values for its slots; None accepts every record.

    `searches`: the condition has a `$search`, which takes long however few records it finds.
    """

    condition: Condition | None = None
    values: tuple[Stored, ...] = ()
    searches: bool = False


EVERYTHING = Where()


class Filter(msgspec.Struct, frozen=True, gc=False):
    """Keep the rows for which a condition holds."""

    condition: Condition


class Compute(msgspec.Struct, frozen=True, gc=False):
    """Add values to each row."""

    values: tuple[NamedValue, ...]


class Aggregation(msgspec.Struct, frozen=True, gc=False):
    """An aggregate function over a group of rows; without an operand it counts the rows."""

    name: str
    function: FunctionName
    operand: Value | None


class Grouping(msgspec.Struct, frozen=True, gc=False):
    """Replace the rows by one for each group with equal keys; without keys, by one for all."""

    keys: tuple[NamedValue, ...]
    aggregations: tuple[Aggregation, ...]


class Limit(msgspec.Struct, frozen=True, gc=False):
    """Keep the first rows of an order, after those that are skipped."""

    order: tuple[OrderKey, ...]
    limit: Slot
    skip: Slot


Transformation = Filter | Compute | Grouping | Limit


class Pipeline(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The rows that a read returns of a set's records, without the values of the request.

    The transformations run in sequence, then rows are sorted by `order`, in which no two are equal.
    `sorting` are expressions that only the order needs. A row has the version and the properties,
    unless `is_aggregated`, then the columns, then the keys of the order that are not properties.

    `is_applied`: the transformations come from `$apply`. `searches`: as in `Where`. `as_json`: a
    row has only the record's JSON (see `RecordEncoder`), null if that is outdated. `names` are the
    properties that a row has, None for all; with none of them it has only its keyset.
    """

    entity_set: EntitySet
    order: tuple[OrderKey, ...]
    transformations: tuple[Transformation, ...] = ()
    sorting: tuple[NamedValue, ...] = ()
    columns: tuple[Column, ...] = ()
    is_aggregated: bool = False
    is_applied: bool = False
    searches: bool = False
    as_json: bool = False
    names: tuple[str, ...] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the rows are all records of the bounds in the order of their keys."""
        return not self.transformations and self.order == default_order(self.entity_set).keys

    @property
    def fits_json(self) -> bool:
        """Whether the rows are records that the order sorts by their own properties."""
        is_list = not self.is_aggregated and not self.is_applied and not self.columns
        return is_list and not self.appended

    @property
    def property_columns(self) -> Mapping[str, int]:
        """The index of each property in a row of columns; none for an aggregated result."""
        if self.is_aggregated:
            return {}
        if self.names is None:
            return self.entity_set.type.column_of
        return {name: number for number, name in enumerate(self.names, 1)}

    @property
    def appended(self) -> tuple[OrderKey, ...]:
        """The keys of the order at the end of each row."""
        own = self.property_columns
        return tuple([key for key in self.order if key.name not in own])


@lru_cache(CACHED_LISTS)
def read_as(
    pipeline: Pipeline, *, json: bool = False, names: tuple[str, ...] | None = None
) -> Pipeline:
    """The same rows as JSON or as some properties; its hash is cached like that of a list."""
    return msgspec.structs.replace(pipeline, as_json=json, names=names)


def json_of(rows: Sequence[Row]) -> list[bytes]:
    """The JSON of each row of a pipeline `as_json`."""
    return cast("list[bytes]", [row[0] for row in rows])


class Bounds(msgspec.Struct, frozen=True, gc=False):
    """The records of a company, or those of them with these keys and these values."""

    company: Company | None
    keys: tuple[Stored, ...] | None = None
    within: Within = ()

    @property
    def company_id(self) -> str:
        """The company's id, empty for the list of companies."""
        return self.company.id if self.company else ""


class RecordPlan(msgspec.Struct, frozen=True, gc=False):
    """One record, by its key; `company_id` is empty for a record of the list of companies."""

    entity_set: EntitySet
    company_id: str
    key: Stored


class PagePlan(msgspec.Struct, frozen=True, gc=False):
    """Up to `limit` rows of a pipeline, after the keyset and after the first `skip` of those.

    `values` are for the slots of the pipeline.
    """

    pipeline: Pipeline
    bounds: Bounds
    limit: int
    values: tuple[Stored, ...] = ()
    keyset: Keyset | None = None
    skip: int = 0

    def part(self, keyset: Keyset | None, limit: int, skip: int) -> "PagePlan":
        """A part of the page."""
        return PagePlan(self.pipeline, self.bounds, limit, self.values, keyset, skip)

    def read_as(self, *, json: bool = False, names: tuple[str, ...] | None = None) -> "PagePlan":
        """The same page with rows of JSON, or of all or some properties."""
        return msgspec.structs.replace(
            self, pipeline=read_as(self.pipeline, json=json, names=names)
        )

    def keyset_after(self, row: Row) -> Keyset:
        """The keyset after which the rows continue that follow `row`."""
        pipeline = self.pipeline
        if pipeline.as_json:
            names = [key.name for key in pipeline.order]
            return record_encoder(pipeline.entity_set.type).values(json_of((row,))[0], names)
        own = self.pipeline.property_columns
        appended = iter(row[len(row) - len(self.pipeline.appended) :])
        return tuple(
            [
                row[own[key.name]] if key.name in own else next(appended)
                for key in self.pipeline.order
            ]
        )


class CountPlan(msgspec.Struct, frozen=True, gc=False):
    """The number of rows that a pipeline returns; its order does not affect the count."""

    pipeline: Pipeline
    bounds: Bounds
    values: tuple[Stored, ...] = ()

    @property
    def company_of_set(self) -> Company | None:
        """The company whose whole set is counted; None for a part of a set."""
        bounds = self.bounds
        is_part = self.pipeline.transformations or bounds.within or bounds.keys is not None
        return None if is_part or not self.pipeline.entity_set.per_company else bounds.company


class RelatedPlan(msgspec.Struct, frozen=True):
    """The records that a navigation property relates to records with these values.

    `values` are those of the referencing property, distinct and not blank. For each value the page
    filters and sorts the related records and skips some; up to `limit` of the others are read.
    """

    navigation: NavigationProperty
    page: PagePlan
    values: tuple[Stored, ...]
    limit: int


@cache
def default_order(entity_set: EntitySet) -> Order:
    """The order by the key."""
    key = entity_set.type.key_property
    return Order((OrderKey(key.name, isinstance(key.type.default, str)),))


@cache
def all_records(entity_set: EntitySet) -> Pipeline:
    """The pipeline that returns all records of a set, by key."""
    return Pipeline(entity_set, default_order(entity_set).keys)


def list_pipeline(
    entity_set: EntitySet,
    computed: Computed = (),
    where: Where = EVERYTHING,
    order: Order | None = None,
) -> tuple[Pipeline, tuple[Stored, ...]]:
    """The pipeline that computes, filters and sorts records, and the values for its slots."""
    order = order or default_order(entity_set)
    if not computed and not order.expressions:
        return _list_pipeline(entity_set, where.condition, order.keys, where.searches), where.values
    transformations: list[Transformation] = []
    values = where.values
    if computed:
        named: list[NamedValue] = []
        for each in computed:
            named.append(NamedValue(each.name, each.value, len(values)))
            values += each.values
        transformations.append(Compute(tuple(named)))
    if where.condition is not None:
        transformations.append(Filter(where.condition))
    first_slot = len(values)
    pipeline = Pipeline(
        entity_set,
        order.keys,
        tuple(transformations),
        tuple(
            [
                NamedValue(each.name, each.value, first_slot + each.first_slot)
                for each in order.expressions
            ]
        ),
        tuple([Column(each.name, each.type, each.nullable) for each in computed]),
        searches=where.searches,
    )
    return pipeline, values + order.values


@lru_cache(CACHED_LISTS)
def _list_pipeline(
    entity_set: EntitySet, condition: Condition | None, keys: tuple[OrderKey, ...], searches: bool
) -> Pipeline:
    """The pipeline of a list without computed values, with its hash, by which reads find it."""
    transformations = () if condition is None else (Filter(condition),)
    return Pipeline(entity_set, keys, transformations, searches=searches)
