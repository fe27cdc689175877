"""The planner's statistics of a file: fixed, so that no plan depends on when they were computed.

Without statistics, SQLite assumes that a company has ten records. It would rather read all of them
in the order of their keys than sort the few that an index finds.
"""

from collections.abc import Iterable

from sqlalchemy import Connection

_RECORDS = 1_000_000_000
"""The assumed records of a table. With fewer, a plan might read those of all companies."""

_OF_COMPANY = 1_000_000
"""The assumed records of a company."""

_ALIKE = 10
"""The assumed records of a company with the same values in the next columns of an index."""

_INDEXES = (
    "SELECT CASE each.origin WHEN 'pk' THEN ?1 ELSE each.name END,"
    " (SELECT count(*) FROM pragma_index_info(each.name)) FROM pragma_index_list(?1) AS each"
)
"""The indexes of a table and the numbers of their columns; the primary key has the table's name."""


def store_statistics(connection: Connection, tables: Iterable[str]) -> None:
    """Store the statistics of tables of records; connections that are opened later use them.

    The indexes of these tables begin with the company, and no two records have the same values in
    all columns of an index.
    """
    # this creates the table of the statistics
    connection.exec_driver_sql("ANALYZE sqlite_schema")
    connection.exec_driver_sql("DELETE FROM sqlite_stat1")
    for table in tables:
        for index, columns in connection.exec_driver_sql(_INDEXES, (table,)).all():
            rows = [_RECORDS, _OF_COMPANY, *[_ALIKE] * (columns - 2), 1]
            connection.exec_driver_sql(
                "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)",
                (table, index, " ".join(map(str, rows))),
            )
