"""The tables: one for each stored entity set, those of the service itself, and control tables.

Every primary key begins with the company, the unit of isolation, distribution and backup. Control
tables belong to no company: clients, roles, issuers, the audit log. Their metadata is separate from
that of `build_tables`, whose tables are copied, deleted and distributed by company.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pkgutil import resolve_name  # noqa: TID251 - tables are in the folder of their feature

import sqlalchemy as sa
from sqlalchemy.sql.type_api import TypeEngine

from comptoir.edm.model import EntitySet, Model, Property
from comptoir.edm.numbers import DecimalNumber, Int32
from comptoir.edm.types import Boolean
from comptoir.features import FEATURES
from comptoir.sql.prepared import CODE_POINTS, named

COMPANY_ID = "company_id"
VERSION = "record_version"

JSON = ("record_json", "json_version", "json_layout")
"""The columns of `RecordEncoder.columns`, which no row of a record has (see `Row`)."""

HISTORY = ("previous", "difference")
"""The columns of the change log that only a history reads."""

EMPTY = "empty"
"""The key in `Column.info` of the value that existing rows get in a column that is added."""

COMPANY = "company"
"""The name of the bind parameter for the company's id."""


# Each type is one of SQLite with a variant for PostgreSQL, which compares texts by code point, as
# SQLite does. Columns share the objects, which SQLAlchemy adapts to a dialect once each.
_POSTGRESQL = "postgresql"


@cache
def text(length: int | None = None) -> TypeEngine[str]:
    """Text of any length, or of up to `length` characters."""
    if length is None:
        return sa.Text().with_variant(sa.Text(collation=CODE_POINTS), _POSTGRESQL)
    return sa.String(length).with_variant(sa.String(length, collation=CODE_POINTS), _POSTGRESQL)


@cache
def company_key() -> TypeEngine[str]:
    """The key of companies, on PostgreSQL of the type by which other tables refer to a company.

    Citus does not colocate tables whose distribution columns differ in type.
    """
    return sa.Text().with_variant(sa.String(36, collation=CODE_POINTS), _POSTGRESQL)


@cache
def whole() -> TypeEngine[int]:
    """A whole number, or a boolean as 0 and 1; 64 bits, since narrower expressions overflow."""
    return sa.Integer().with_variant(sa.BigInteger(), _POSTGRESQL)


def of_company(table: sa.FromClause) -> sa.ColumnElement[bool]:
    """Build the condition that a row is of the statement's company."""
    return table.c[COMPANY_ID] == named(COMPANY)


@dataclass(frozen=True, eq=False, slots=True)
class Records:
    """The table of an entity set, and the column of each property that has one, in order."""

    table: sa.Table
    columns: Mapping[str, sa.Column[str | int]]


@dataclass(frozen=True, eq=False, slots=True)
class Tables:
    """All tables: the records of every entity set, and those of the service itself."""

    metadata: sa.MetaData
    records: Mapping[str, Records]
    companies: sa.Table

    changes: sa.Table
    """The change log.

    `previous` is the number of the record's change before, null for a create and for a change by a
    release without it. `difference` is what the change did (see `store.ledger`); null for a
    create, and where it is not kept.
    """

    repeats: sa.Table
    """The outcomes of repeatable writes."""

    copies: sa.Table
    """The companies whose copy or deletion is unfinished; `companies` does not have them.

    `incarnation` is that of the source, blank for a deletion. `number` is the change up to which a
    copy is complete, and `holder` the command that runs it.
    """

    search_marks: sa.Table
    """The progress of the text index of each set: the change up to which it is complete.

    `layout` is a digest of how their texts are built, `scope` the range of their numbers.
    """

    search_documents: sa.Table
    """The folded texts of records, by their numbers in the database's own text index."""

    def names_of_unique(self, name: str) -> list[str]:
        """The columns of a unique constraint or index, empty if the name is unknown."""
        for table in self.metadata.tables.values():
            if table.primary_key.name == name:
                return [column.name for column in table.primary_key.columns]
            for index in table.indexes:
                if index.name == name:
                    return [column.name for column in index.columns]
        return []


def build_tables(model: Model) -> Tables:
    """Derive the tables from the model; equal models give equal tables."""
    metadata = sa.MetaData()
    records: dict[str, Records] = {}
    for entity_set in model.sets:
        if entity_set.view is None:
            records[entity_set.name] = _records(metadata, entity_set)
    for entity_set in model.sets:
        if entity_set.view is not None:
            base = records[entity_set.view.base]
            columns = {
                each.name: base.columns[entity_set.view.columns[each.name]]
                for each in entity_set.type.properties
            }
            records[entity_set.name] = Records(base.table, columns)
    number, any_text = sa.BigInteger(), text()
    add = partial(service_table, metadata)
    tables = Tables(
        metadata,
        records,
        companies=metadata.tables["companies"],
        changes=add("changes", 1, number=number, entity_set=any_text, record=any_text,
            verb=any_text, at=text(24), by=any_text, with_rowid=False),
        repeats=add("repeats", 3, by=any_text, client=any_text, request=any_text, digest=text(64),
            outcome=any_text, at=text(24)),
        copies=add("copies", 0, incarnation=text(32), number=number, holder=text(32)),
        search_marks=add("search_marks", 1, entity_set=any_text, layout=text(32), number=number,
            scope=number),
        search_documents=add("search_documents", 1, document=number, entity_set=any_text,
            record=any_text, folded=any_text),
    )  # fmt: skip
    version, difference = HISTORY
    tables.changes.append_column(sa.Column(version, sa.BigInteger))
    tables.changes.append_column(sa.Column(difference, any_text))
    changes = tables.changes.c
    is_kept = changes[difference].is_not(None)
    of_time = changes[COMPANY_ID], changes["at"]
    sa.Index("ix_changes_difference", *of_time, sqlite_where=is_kept)
    sa.Index("ix_repeats_at", tables.repeats.c[COMPANY_ID], tables.repeats.c["at"])
    documents = tables.search_documents.c
    document = documents[COMPANY_ID], documents.entity_set, documents.record
    sa.Index("ux_search_documents_0", *document, unique=True)
    for each in feature_tables():
        if COMPANY_ID in each.columns:
            each.to_metadata(metadata)
    return tables


@cache
def feature_tables() -> Sequence[sa.Table]:
    """The tables of all features, also of those that are switched off."""
    found: list[sa.Table] = []
    for each in FEATURES:
        if each.tables:
            declared: sa.MetaData = resolve_name(each.tables)
            found += declared.tables.values()
    return found


def _records(metadata: sa.MetaData, entity_set: EntitySet) -> Records:
    entity_type = entity_set.type
    columns = {each.name: _column(each) for each in entity_type.properties if each.shows is None}
    version = sa.Column(VERSION, sa.BigInteger, nullable=False)
    if not entity_set.per_company:
        columns[entity_type.key] = sa.Column(COMPANY_ID, company_key(), nullable=False)
        table = sa.Table(
            entity_set.name,
            metadata,
            *columns.values(),
            version,
            sa.Column("incarnation", text(32), nullable=False),
            sa.Column("change_number", sa.BigInteger, nullable=False),
            sa.Column("changed_at", text(24), nullable=False),
            sa.PrimaryKeyConstraint(COMPANY_ID, name=f"pk_{entity_set.name}"),
        )
        return Records(table, columns)
    company = sa.Column(COMPANY_ID, text(36), nullable=False)
    table = sa.Table(
        entity_set.name,
        metadata,
        company,
        version,
        # SQLite finds the first columns of a row faster
        # null in records that an earlier release created
        sa.Column(JSON[0], sa.LargeBinary),
        *(sa.Column(name, sa.BigInteger) for name in JSON[1:]),
        *columns.values(),
        sa.PrimaryKeyConstraint(COMPANY_ID, entity_type.key, name=f"pk_{entity_set.name}"),
        # in the order of the key, so that a page is read without a search for each record
        sqlite_with_rowid=False,
    )
    for number, rule in enumerate(entity_type.unique):
        condition = columns[rule.properties[0]] != "" if rule.blank_is_free else None
        sa.Index(
            f"ux_{entity_set.name}_{number}",
            company,
            *(columns[name] for name in rule.properties),
            unique=True,
            sqlite_where=condition,
        )
    for number, names in enumerate(entity_type.indexes):
        # the key at the end lets a page be read in key order without sorting
        sa.Index(
            f"ix_{entity_set.name}_{number}",
            company,
            *(columns[name] for name in names),
            columns[entity_type.key],
        )
    return Records(table, columns)


def _column(each: Property) -> sa.Column[str | int]:
    empty = {EMPTY: str(each.initial)}
    return sa.Column(each.name, column_type(each), nullable=False, info=empty)


def column_type(each: Property) -> TypeEngine[str | int]:
    """The type of a property's values in the database."""
    found: TypeEngine[str] | TypeEngine[int]
    if isinstance(each.type, Int32 | Boolean):
        found = whole()
    elif isinstance(each.type, DecimalNumber):
        found = _number
    else:
        found = text()
    return found  # type: ignore[return-value]


def service_table(
    metadata: sa.MetaData,
    name: str,
    key: int,
    /,
    *,
    per_company: bool = True,
    with_rowid: bool = True,
    **columns: TypeEngine[str] | TypeEngine[int],
) -> sa.Table:
    """A table without records, whose first `key` columns are its key.

    With `per_company`, its rows belong to companies, whose id is before these columns.
    """
    company: Mapping[str, TypeEngine[str]] = {COMPANY_ID: text(36)} if per_company else {}
    return sa.Table(
        name,
        metadata,
        *[
            sa.Column(each, column_type, nullable=False, autoincrement=False)
            for each, column_type in {**company, **columns}.items()
        ],
        sa.PrimaryKeyConstraint(*company, *list(columns)[:key], name=f"pk_{name}"),
        sqlite_with_rowid=with_rowid,
    )


_METADATA = sa.MetaData()
_table = partial(service_table, _METADATA, per_company=False)
_number, _any_text, _instant = sa.BigInteger(), text(), text(24)

USER = "user"
"""The key in `Table.info` of the name of a column with users. Their rows end with their issuer."""

CONTROL = _table("control", 1, version=_number)
"""Has one row, whose version every change raises."""

CLIENTS = _table("clients", 1, id=text(36), name=_any_text, scopes=_any_text, roles=_any_text,
    companies=_any_text, rate=_any_text, quota=_number, state=_any_text, created_at=_instant,
    not_before=_number)  # fmt: skip
sa.Index("ux_clients_name", CLIENTS.c["name"], unique=True)

CLIENT_SECRETS = _table("client_secrets", 2, client=text(36), id=text(16), digest=text(64),
    hint=text(8), created_at=_instant, expires_at=_number, used_at=_number)  # fmt: skip

CLIENT_KEYS = _table("client_keys", 2, client=text(36), kid=text(64), jwk=_any_text, x5t=text(32),
    x5t_s256=text(48), expires_at=_number)  # fmt: skip
"""The public keys of clients as JWK, until their end in epoch seconds.

`x5t` and `x5t_s256` are the thumbprints of a certificate, blank for a key without one.
"""

ASSERTIONS = _table("assertions", 2, client=text(36), jti=text(255), expires_at=_number)
"""The ids of the assertions that clients have used, until their end in epoch seconds."""
sa.Index("ix_assertions_expires_at", ASSERTIONS.c.expires_at)

ROLES = _table("roles", 1, name=text(64), document=_any_text)

REVOKED = _table("revoked", 1, jti=text(255), expires_at=_number)
"""The ids of tokens that were revoked, until their end in epoch seconds."""
sa.Index("ix_revoked_expires_at", REVOKED.c.expires_at)

ISSUERS = _table("issuers", 1, name=text(64), url=_any_text, document=_any_text)
"""Outside issuers; the document has the terms of their tokens."""
sa.Index("ux_issuers_url", ISSUERS.c.url, unique=True)

AUDIT = _table("audit", 1, number=_number, at=_instant, by=_any_text, address=_any_text,
    request=_any_text, act=_any_text, target=_any_text, detail=_any_text)  # fmt: skip
"""The audit log, numbered without gaps under the lock of the row of `control`."""

# not used: earlier releases store here what the processes of a service with faults share
_table("rehearsal", 1, version=_number, document=_any_text)

# not used: earlier releases store here the failed logins of the last minute
_guesses = _table("console_guesses", 1, number=_number, network=text(64), at=_number)
# programs of revision 0011 add wrong codes without it
_guesses.append_column(
    sa.Column("issuer", text(), nullable=False, server_default="", info={EMPTY: ""})
)
sa.Index("ix_console_guesses_network", _guesses.c.network)


@cache
def control_tables() -> sa.MetaData:
    """All control tables, with those of features."""
    metadata = sa.MetaData()
    for each in (*_METADATA.tables.values(), *feature_tables()):
        if COMPANY_ID not in each.columns:
            each.to_metadata(metadata)
    return metadata
