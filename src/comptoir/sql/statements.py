"""The statements of a dialect over a model: reads, writes, and the service's own tables."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property

import sqlalchemy as sa
from sqlalchemy.engine import Dialect as Compiler
from sqlalchemy.sql import ClauseElement

from comptoir.edm.model import (
    EntitySet,
    Followed,
    KeyValues,
    Model,
    Reference,
    Referrer,
    UniqueRule,
)
from comptoir.edm.record_json import JsonColumns
from comptoir.plan.read import Row
from comptoir.sql.company_rows import CompanyRowStatements
from comptoir.sql.dialects import Dialect
from comptoir.sql.prepared import (
    BLANK,
    ManyQueries,
    Prepared,
    Query,
    Steps,
    by_shape,
    constant,
    first_rows,
    named,
    prepare,
    prepare_insert,
    query_of,
    whole,
)
from comptoir.sql.reads import ReadStatements
from comptoir.sql.tables import (
    COMPANY,
    COMPANY_ID,
    HISTORY,
    JSON,
    VERSION,
    Tables,
    build_tables,
    of_company,
)
from comptoir.sql.text_index import TextIndexStatements


class ServiceStatements:
    """Each statement's docstring ends with the values to bind, in order."""

    def __init__(self, tables: Tables, compiler: Compiler) -> None:
        self._tables = tables
        self._dialect = compiler
        company, changes, repeats = tables.companies.c, tables.changes.c, tables.repeats
        own = of_company(tables.companies)

        self.company = self._prepare(sa.select(company.incarnation).where(own), COMPANY)
        """The incarnation of a company: id."""

        last = sa.select(company.change_number, company.changed_at, company.incarnation).where(own)
        self.ledger = self._prepare(last.with_for_update(), COMPANY)
        """A company's last change number, its time and the incarnation; locks the row: id."""

        moved = {name: named(f"set_{name}") for name in ("change_number", "changed_at")}
        store_ledger = sa.update(tables.companies).where(own).values(moved)
        self.store_ledger = self._prepare(
            store_ledger, COMPANY, "set_change_number", "set_changed_at"
        )
        """Store the last change number and its time: id, number, time."""

        self.add_change = self._add_row(tables.changes)
        """Add an entry to the change log: the columns of its table."""

        self.changes = self._changes({"since": changes.number > named("since")})
        """The change log after a number, in order: company, number, limit."""

        self.changes_of = self._changes(
            {
                "entity_set": changes.entity_set == named("entity_set"),
                "since": changes.number > named("since"),
                "until": changes.number <= named("until"),
            }
        )
        """The changes of a set, in order: company, entity set, number before the first, number of
        the last, limit."""

        self.position = self._prepare(sa.select(company.change_number).where(own), COMPANY)
        """The number of a company's last change: id."""

        is_standby = sa.func.pg_is_in_recovery()
        state = sa.select(is_standby, company.incarnation, company.change_number).where(own)
        self.replica_state = self._prepare(state, COMPANY)
        """On PostgreSQL: whether the server is a standby, a company's incarnation and its last
        change number: id."""

        key = {f"is_{column.name}": column for column in repeats.primary_key.columns}
        outcome = sa.select(repeats.c.digest, repeats.c.outcome)
        is_repeat = [column == named(name) for name, column in key.items()]
        self.repeat = self._prepare(outcome.where(*is_repeat), *key)
        """The digest and the outcome of a repeatable write: company, by, client, request."""

        self.add_repeat = self._add_row(repeats)
        """Add a repeatable write: company, by, client, request, digest, outcome, time."""

        ids = [each for each in repeats.primary_key.columns if each.name != COMPANY_ID]
        of_repeats, at = of_company(repeats), repeats.c["at"]
        oldest = sa.select(*ids).where(of_repeats, at < named("before")).order_by(at)
        is_oldest = sa.tuple_(*ids).in_(first_rows(oldest, whole("limit")))
        drop = sa.delete(repeats).where(of_repeats, is_oldest)
        self.drop_repeats = self._prepare(drop, COMPANY, "before", "limit")
        """Delete the oldest repeatable writes before a time: company, time, limit."""

    def _prepare(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._dialect, names)

    def _add_row(self, table: sa.Table) -> Prepared:
        return prepare_insert(table, [column.name for column in table.columns], self._dialect)

    @cached_property
    def added_since(self) -> Prepared:
        """A company's last change number, and by how many records a set has grown.

        Values: id, entity set, number, the verbs of records that were created and deleted. No row
        if the log lacks some.
        """
        companies, changes = self._tables.companies, self._tables.changes
        verb, number, last = changes.c.verb, changes.c.number, companies.c.change_number
        added = sa.case(
            (verb == named("created"), constant(1)),
            (verb == named("deleted"), constant(-1)),
            else_=constant(0),
        )
        more = sa.select(sa.func.coalesce(sa.func.sum(added), constant(0))).where(
            of_company(changes),
            changes.c.entity_set == named("entity_set"),
            number > named("since"),
        )
        is_next = of_company(changes), number == whole("since") + constant(1)
        is_known = (last == named("since")) | sa.select(constant(1)).where(*is_next).exists()
        since = sa.select(last, more.scalar_subquery()).where(of_company(companies), is_known)
        return self._prepare(since, COMPANY, "entity_set", "since", "created", "deleted")

    def _changes(self, conditions: Mapping[str, sa.ColumnElement[bool]]) -> Prepared:
        """The changes that meet conditions, each with the name of its value."""
        changes = self._tables.changes
        statement = (
            sa.select(
                *[each for each in changes.columns if each.name not in (COMPANY_ID, *HISTORY)]
            )
            .where(of_company(changes), *conditions.values())
            .order_by(changes.c.number)
        )
        return self._prepare(first_rows(statement, whole("limit")), COMPANY, *conditions, "limit")


UpdateShape = tuple[EntitySet, tuple[str, ...]]
UniqueShape = tuple[EntitySet, UniqueRule]
FollowShape = tuple[EntitySet, Followed]
NumberShape = tuple[EntitySet, str]
KeysShape = tuple[EntitySet, tuple[str, ...], int]


class WriteStatements:
    """The statements of a model's writes, built at their first use.

    Each docstring ends with the values to bind, in order.
    """

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._compiler = dialect.compiler
        self._dialect = dialect

    def update(
        self,
        company_id: str,
        entity_set: EntitySet,
        names: tuple[str, ...],
        row: Row,
        json: JsonColumns,
    ) -> ManyQueries:
        """The statement that sets some properties, the version and the JSON of a record.

        `row` is the record after the change.
        """
        entity_type = entity_set.type
        column_of = entity_type.column_of
        values = [row[column_of[name]] for name in (entity_type.key, *names)]
        return self._updates[entity_set, names].many([(company_id, *values, row[0], *json)])

    def find(
        self,
        company_id: str,
        entity_set: EntitySet,
        names: tuple[str, ...],
        wanted: Sequence[KeyValues],
    ) -> Steps[dict[KeyValues, Row]]:
        """Read the records that have wanted values of these properties; returns them by values."""
        columns = [entity_set.type.column_of[name] for name in names]
        found: dict[KeyValues, Row] = {}
        for query in self.matches(company_id, entity_set, names, wanted):
            rows = yield query
            for row in rows:
                found[tuple([row[column] for column in columns])] = row
        return found

    def matches(
        self,
        company_id: str,
        entity_set: EntitySet,
        names: tuple[str, ...],
        wanted: Sequence[KeyValues],
    ) -> Iterator[Query]:
        """The statements of `find`, which return whole records."""
        for rows, values in self._dialect.lookup_values(wanted):
            yield self._matches[entity_set, names, rows].query(company_id, *values)

    @by_shape
    def insert(self, entity_set: EntitySet) -> Prepared:
        """Insert a record: company, version, the columns of `JSON`, then the properties."""
        records = self._tables.records[entity_set.name]
        properties = [column.name for column in records.columns.values()]
        # in the order of the table, so that rows are bound as they are
        names = [COMPANY_ID, VERSION, *JSON, *properties]
        return prepare_insert(records.table, names, self._compiler)

    @by_shape
    def _updates(self, shape: UpdateShape) -> Prepared:
        entity_set, names = shape
        records = self._tables.records[entity_set.name]
        columns = [*(records.columns[name].name for name in names), VERSION, *JSON]
        binds = [f"set_{name}" for name in columns]
        statement = (
            sa.update(records.table)
            .where(of_company(records.table), records.columns[entity_set.type.key] == named("key"))
            .values({name: named(bind) for name, bind in zip(columns, binds, strict=True)})
        )
        row = prepare(statement, self._compiler, [COMPANY, "key", *binds])
        key = records.columns[entity_set.type.key].name
        return self._dialect.update(records.table, key, columns, row)

    @by_shape
    def delete(self, entity_set: EntitySet) -> Prepared:
        """Delete a record: company, key."""
        records = self._tables.records[entity_set.name]
        is_key = records.columns[entity_set.type.key] == named("key")
        statement = sa.delete(records.table).where(of_company(records.table), is_key)
        return prepare(statement, self._compiler, (COMPANY, "key"))

    @by_shape
    def duplicate(self, shape: UniqueShape) -> Prepared:
        """The key of another record with these values: company, key, then the rule's values."""
        entity_set, rule = shape
        columns = self._tables.records[entity_set.name].columns
        key = columns[entity_set.type.key]
        others = [key != named("key")]
        if rule.blank_is_free:
            # the rule's index is partial, and serves only statements with this condition
            others.append(columns[rule.properties[0]] != BLANK)
        return self._first(entity_set.name, key, rule.properties, others, "key")

    @by_shape
    def followed(self, shape: FollowShape) -> Prepared:
        """The value that a derivation follows: company, own key, reference, values of `only`."""
        entity_set, rule = shape
        columns = self._tables.records[entity_set.name].columns
        key = columns[entity_set.type.key]
        others = [columns[rule.named_by] != BLANK, key != named("own_key")]
        equal = (rule.named_by, *rule.only)
        return self._first(
            entity_set.name, columns[rule.value], equal, others, "own_key", order=key
        )

    @by_shape
    def related(self, reference: Reference) -> Prepared:
        """The version of the record that a reference names: company, value, value of `only`."""
        records = self._tables.records[reference.target]
        only = () if reference.only is None else (reference.only[0],)
        # a partial index serves only statements that exclude the blank value
        filled = records.columns[reference.named_by] != BLANK
        version, equal = records.table.c[VERSION], (reference.named_by, *only)
        return self._first(reference.target, version, equal, [filled])

    @by_shape
    def used(self, referrer: Referrer) -> Prepared:
        """The version of a record that names another one: company, key of that one."""
        version = self._tables.records[referrer.entity_set].table.c[VERSION]
        return self._first(referrer.entity_set, version, (referrer.property,))

    def _first(
        self,
        name: str,
        selected: sa.ColumnElement[str | int],
        equal: Sequence[str],
        others: Sequence[sa.ColumnElement[bool]] = (),
        *bound: str,
        order: sa.ColumnElement[str | int] | None = None,
    ) -> Prepared:
        """The first record of a set with equal values, which are bound after others."""
        records = self._tables.records[name]
        values = {f"is_{each}": records.columns[each] for each in equal}
        is_equal = [column == named(each) for each, column in values.items()]
        statement = sa.select(selected).where(of_company(records.table), *is_equal, *others)
        first = first_rows(statement.order_by(order), constant(1))
        return prepare(first, self._compiler, (COMPANY, *bound, *values))

    @by_shape
    def highest(self, shape: NumberShape) -> Prepared:
        """The highest value of a property, null without records: company."""
        entity_set, name = shape
        records = self._tables.records[entity_set.name]
        statement = sa.select(sa.func.max(records.columns[name])).where(of_company(records.table))
        return prepare(statement, self._compiler, (COMPANY,))

    @by_shape
    def _matches(self, shape: KeysShape) -> Prepared:
        entity_set, names, rows = shape
        records = self._tables.records[entity_set.name]
        columns = [records.columns[name] for name in names]
        found = sa.select(records.table.c[VERSION], *records.columns.values())
        if any(rule.blank_is_free for rule in entity_set.type.unique if rule.properties == names):
            # the rule's index is partial, and serves only statements with this condition
            found = found.where(columns[0] != BLANK)
        return self._dialect.lookup(found, records.table, [each.name for each in columns], rows)


class Statements:
    """The statements that a store sends to its database.

    Statements of writes, of the text index and of copies are compiled at their first use.
    """

    def __init__(self, model: Model, dialect: Dialect) -> None:
        self.model = model
        self._dialect = dialect
        self.compiler = dialect.compiler
        self.tables = build_tables(model)
        self.reads = ReadStatements(self.tables, dialect)
        self.service = ServiceStatements(self.tables, self.compiler)

    def query(self, statement: ClauseElement) -> Query:
        """A statement that is not frequent, with the values in it."""
        return query_of(statement, self.compiler)

    @cached_property
    def writes(self) -> WriteStatements:
        """Statements that write records."""
        return WriteStatements(self.tables, self._dialect)

    @cached_property
    def index(self) -> TextIndexStatements:
        """Statements that update the text index."""
        return TextIndexStatements(self.model, self.tables, self._dialect)

    @cached_property
    def company_rows(self) -> CompanyRowStatements:
        """Statements that copy and delete companies."""
        return CompanyRowStatements(self.model, self.tables, self.compiler)


@cache
def statements_of(model: Model, dialect: Dialect) -> Statements:
    """The statements over a model in a dialect, compiled once for all stores of a process."""
    return Statements(model, dialect)
