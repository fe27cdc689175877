"""`$select` (OData URL Conventions 4.01, section 5.1.4): a list of properties."""

import re

from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.request.expression.reader import OptionReader
from comptoir.request.expression.tree import Syntax

SELECT = "$select"

_NAME = r"[^\W\d]\w*"
_ITEM = re.compile(rf"\*|@?{_NAME}(?:\.{_NAME})*(?:\.\*|(?:/[@$]?{_NAME}(?:\.{_NAME})*)*)")
_EXAMPLE = "Write for example `number,displayName`."


class SelectItem(Syntax, frozen=True):
    """One item: the names along a path to a property, or `("*",)` for all properties.

    A name with a dot is a type to which the path casts.
    """

    path: tuple[str, ...]
    position: int = 0

    @property
    def all(self) -> bool:
        """Whether the item means every property."""
        return self.path == ("*",)


def parse_select(text: str, option: str = SELECT) -> tuple[SelectItem, ...]:
    """The items of a percent-decoded `$select`, at least one; they may be equal.

    Raises `Refusal` with `option` as its target: 400 for a malformed list, 501 for annotations,
    actions and functions, and for options of an item.
    """
    reader = OptionReader(text, option)
    if reader.at_end():
        raise reader.empty(_EXAMPLE)
    items: list[SelectItem] = []
    while True:
        start = reader.skip_blanks()
        found = _ITEM.match(text, start)
        if found is None:
            raise reader.unexpected(start, "the name of a property", _EXAMPLE)
        items.append(_item(reader, found[0]))
        reader.position = found.end()
        position = reader.skip_blanks()
        if position == len(text):
            return tuple(items)
        if text[position] == "(":
            raise reader.unsupported("An option of a selected property", position)
        if text[position] != ",":
            raise reader.unexpected(position, "',' and another property", _EXAMPLE)
        reader.position += 1


def _item(reader: OptionReader, text: str) -> SelectItem:
    path, position = tuple(text.split("/")), reader.position
    if "@" in text:
        raise reader.unsupported(f"The annotation {quoted(text)}", position)
    if "." in path[-1]:
        raise reader.unsupported(
            f"{quoted(text)} (an action, a function or a whole namespace)", position
        )
    if "$" in text:
        raise reader.refuse(rows.NOT_SELECTABLE, position, name=text)
    return SelectItem(path, position)
