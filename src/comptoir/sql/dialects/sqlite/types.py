"""The types of columns on SQLite."""

from sqlalchemy import Integer, String, Text
from sqlalchemy.sql.type_api import TypeEngine


def text(length: int | None = None) -> TypeEngine[str]:
    """Text of any length, or of up to `length` characters; it compares by code point."""
    return Text() if length is None else String(length)


def company_key() -> TypeEngine[str]:
    """The key of companies."""
    return Text()


def whole() -> TypeEngine[int]:
    """A whole number, or a boolean as 0 and 1."""
    return Integer()
