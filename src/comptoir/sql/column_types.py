"""The types of columns for both databases, as tables declare them and revisions create them."""

from sqlalchemy import BigInteger, Integer, String
from sqlalchemy.sql.type_api import TypeEngine

from comptoir.sql.dialects.postgresql import types as postgresql
from comptoir.sql.dialects.sqlite import types as sqlite

_POSTGRESQL = "postgresql"


def text(length: int | None = None) -> TypeEngine[str]:
    """Text that compares by code point, of any length or of up to `length` characters."""
    return sqlite.text(length).with_variant(postgresql.text(length), _POSTGRESQL)


def company_key() -> TypeEngine[str]:
    """The key of companies."""
    return sqlite.company_key().with_variant(postgresql.company_key(), _POSTGRESQL)


def whole() -> TypeEngine[int]:
    """A whole number, or a boolean as 0 and 1."""
    return sqlite.whole().with_variant(postgresql.whole(), _POSTGRESQL)


def spelled(kind: object) -> str | None:
    """The text of a column's type in a revision; None for a type that Alembic writes itself."""
    if isinstance(kind, String):
        return f"column_types.text({kind.length or ''})"
    if isinstance(kind, Integer) and not isinstance(kind, BigInteger):
        return "column_types.whole()"
    return None
