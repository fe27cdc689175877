"""Decoded JSON values. Numbers with a fraction or an exponent are exact."""

from decimal import Decimal

Json = None | bool | int | Decimal | str | list["Json"] | dict[str, "Json"]


def json_type(value: Json) -> str:
    """The type of a JSON value, with its article, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a Boolean"
    if isinstance(value, int | Decimal):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "an array" if isinstance(value, list) else "an object"
