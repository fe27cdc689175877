"""The types of columns.

Each is a type of SQLite with a variant for PostgreSQL, which compares texts by code point, as
SQLite does. Columns share the objects, which SQLAlchemy adapts to a dialect once each.
"""

from functools import cache

import sqlalchemy as sa
from sqlalchemy.sql.type_api import TypeEngine

from comptoir.sql.prepared import CODE_POINTS

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
