"""The dialect of SQLite, and its bulk statements: they bind each value of each row by itself."""

from collections.abc import Iterator, Sequence

from sqlalchemy import Column, ColumnElement, Table, and_, or_, select
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.engine import Dialect as Compiler
from typing_extensions import override

from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import padded
from comptoir.sql.dialects import BulkStatements, Dialect
from comptoir.sql.dialects.sqlite.functions import FUNCTIONS
from comptoir.sql.dialects.sqlite.text_index import Fts5Index
from comptoir.sql.prepared import Prepared, Value, constant, prepare, slot
from comptoir.sql.tables import COMPANY, of_company

LOOKUP_ROWS = 512
"""The most rows of values that one statement looks up."""


class SqliteBulkStatements(BulkStatements):
    """Implements `BulkStatements` by statements for some sizes."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler

    @override
    def lookup(
        self,
        table: Table,
        columns: Sequence[Column[str | int]],
        names: Sequence[str],
        conditions: Sequence[ColumnElement[bool]],
        rows: int,
    ) -> Prepared:
        wanted = [
            [slot(row * len(names) + number) for number in range(len(names))] for row in range(rows)
        ]
        company = of_company(table)
        if len(names) == 1:
            matched = and_(company, table.c[names[0]].in_([row[0] for row in wanted]))
        else:
            # with the company in each alternative, else SQLite does not use the index for it
            matched = or_(
                *(
                    and_(
                        company,
                        *(table.c[name] == each for name, each in zip(names, row, strict=True)),
                    )
                    for row in wanted
                )
            )
        return prepare(select(*columns).where(matched, *conditions), self._compiler, (COMPANY,))

    @override
    def lookup_values(
        self, wanted: Sequence[tuple[Stored, ...]]
    ) -> Iterator[tuple[int, Sequence[Value]]]:
        for start in range(0, len(wanted), LOOKUP_ROWS):
            rows = padded(wanted[start : start + LOOKUP_ROWS])
            yield len(rows), [value for row in rows for value in row]


_compiler = SQLiteDialect(paramstyle="qmark")

SQLITE = Dialect(
    _compiler,
    FUNCTIONS,
    Fts5Index(_compiler),
    SqliteBulkStatements(_compiler),
    no_limit=constant(-1),
)
