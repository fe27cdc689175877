"""The types of columns, as tables declare them and revisions make them.

PostgreSQL has one width for all whole numbers, since expressions over narrow ones would overflow,
and its texts compare by code point, as SQLite's do.
"""

from sqlalchemy import BigInteger, Integer, String, Text
from sqlalchemy.sql.type_api import TypeEngine

from comptoir.sql.prepared import CODE_POINTS

POSTGRESQL = "postgresql"


def text(length: int | None = None) -> TypeEngine[str]:
    """Text that compares by code point, of any length or up to so many characters."""
    kind = Text() if length is None else String(length)
    return kind.with_variant(type(kind)(length, collation=CODE_POINTS), POSTGRESQL)


def company_key() -> TypeEngine[str]:
    """The key of companies.

    On PostgreSQL it is of the type that other tables name a company by: Citus keeps no tables
    together whose keys are of different types.
    """
    return Text().with_variant(String(36, collation=CODE_POINTS), POSTGRESQL)


def whole() -> TypeEngine[int]:
    """A whole number, or a boolean as 0 and 1."""
    return Integer().with_variant(BigInteger(), POSTGRESQL)


def spelled(kind: object) -> str | None:
    """How a revision spells the type of a column; None for one that SQLAlchemy spells."""
    if isinstance(kind, String):
        return f"column_types.text({kind.length or ''})"
    if isinstance(kind, Integer) and not isinstance(kind, BigInteger):
        return "column_types.whole()"
    return None
