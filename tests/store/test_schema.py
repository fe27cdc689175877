"""The migrations create the schema that the catalog declares."""

from pathlib import Path

from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from comptoir.catalog import MODEL
from comptoir.sql.tables import COMPANY_ID, HISTORY, JSON, build_tables, control_tables
from support.databases import FreshDatabase, run_sql
from support.specimen import WITH_SPECIMENS


def test_a_file_has_each_table_and_index_exactly_as_declared(
    fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    """Alembic compares neither the order of columns, nor keys, nor the conditions of indexes."""
    rows = run_sql(
        fresh_sqlite(tmp_path, MODEL), "SELECT name, sql FROM sqlite_schema WHERE sql <> ''"
    )
    found = {str(name): spelled(str(sql)) for name, sql in rows}

    declared_tables = (build_tables(MODEL).metadata, control_tables())
    for table in (each for metadata in declared_tables for each in metadata.tables.values()):
        assert found[table.name] == spelled(str(CreateTable(table).compile(dialect=dialect())))
        for index in table.indexes:
            declared = spelled(str(CreateIndex(index).compile(dialect=dialect())))
            assert found[str(index.name)] == declared


def spelled(sql: str) -> str:
    """A statement without quotes and line ends."""
    return " ".join(sql.replace('"', "").split())


def test_every_primary_key_and_index_begins_with_the_company() -> None:
    """The company is the unit of isolation, of sharding and of backup.

    No unique rule and no look-up reaches beyond a company.
    """
    for table in build_tables(WITH_SPECIMENS).metadata.tables.values():
        for columns in (table.primary_key.columns, *(each.columns for each in table.indexes)):
            assert next(iter(columns)).name == COMPANY_ID, table.name


def test_only_the_json_of_records_and_the_history_of_changes_are_nullable() -> None:
    for table in build_tables(WITH_SPECIMENS).metadata.tables.values():
        nullable = [column.name for column in table.columns if column.nullable]
        assert nullable in ([], [*JSON], [*HISTORY])
    for table in control_tables().tables.values():
        assert not any(column.nullable for column in table.columns)


def test_control_tables_are_of_no_company() -> None:
    """They are neither copied nor deleted with a company."""
    of_companies = build_tables(WITH_SPECIMENS).metadata.tables
    for name, table in control_tables().tables.items():
        assert name not in of_companies
        assert COMPANY_ID not in table.columns
