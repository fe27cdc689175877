"""The types of columns on PostgreSQL."""

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.sql.type_api import TypeEngine

from comptoir.sql.prepared import CODE_POINTS


def text(length: int | None = None) -> TypeEngine[str]:
    """Text of any length, or of up to `length` characters; it compares by code point."""
    if length is None:
        return Text(collation=CODE_POINTS)
    return String(length, collation=CODE_POINTS)


def company_key() -> TypeEngine[str]:
    """The key of companies, of the type by which other tables refer to a company.

    Citus does not colocate tables whose distribution columns differ in type.
    """
    return String(36, collation=CODE_POINTS)


def whole() -> TypeEngine[int]:
    """A whole number, or a boolean as 0 and 1: 64 bits, since narrower expressions overflow."""
    return BigInteger()
