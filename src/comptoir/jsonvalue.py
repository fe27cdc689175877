"""What the JSON decoder gives; numbers with a fraction or an exponent are exact."""

from decimal import Decimal

Json = None | bool | int | Decimal | str | list["Json"] | dict[str, "Json"]


def json_kind(value: Json) -> str:
    """Name a JSON value's kind for a message, as in "but a number was sent"."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | Decimal):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "an array" if isinstance(value, list) else "an object"
