"""`$select` (OData URL Conventions 4.01, section 5.1.4): which properties are wanted."""

import re

from comptoir.request.expression import Syntax, faults
from comptoir.request.expression.lexer import after_blanks

SELECT = "$select"

_NAME = r"[^\W\d]\w*"
_ITEM = re.compile(rf"\*|@?{_NAME}(?:\.{_NAME})*(?:\.\*|(?:/[@$]?{_NAME}(?:\.{_NAME})*)*)")
_EXAMPLE = "Write for example `number,displayName`."


class SelectItem(Syntax, frozen=True):
    """One item: the names along a path to a property, or `("*",)` for all properties.

    A name with a dot is that of a type, to which the path casts.
    """

    path: tuple[str, ...]
    position: int = 0

    @property
    def all(self) -> bool:
        """Whether the item means every property."""
        return self.path == ("*",)


def parse_select(text: str, option: str = SELECT) -> tuple[SelectItem, ...]:
    """The items of `text`, which is percent-decoded already, at least one; an item may come again.

    Raises `Refusal` with `option` as its target: 400 for what is no list of properties, 501 for
    annotations, actions and functions, and for options of an item.
    """
    items: list[SelectItem] = []
    position = after_blanks(text, 0)
    if position == len(text):
        raise faults.misused(position, f"there is no property. {_EXAMPLE}", option)
    while True:
        found = _ITEM.match(text, position)
        if found is None:
            raise faults.misplaced(text, position, "the name of a property", _EXAMPLE, option)
        items.append(_item(found[0], position, option))
        position = after_blanks(text, found.end())
        if position == len(text):
            return tuple(items)
        if text[position] == "(":
            raise faults.not_supported("an option of a selected property", position, option)
        if text[position] != ",":
            raise faults.misplaced(text, position, "`,` and another property", _EXAMPLE, option)
        position = after_blanks(text, position + 1)


def _item(text: str, position: int, option: str) -> SelectItem:
    path = tuple(text.split("/"))
    if "@" in text:
        raise faults.not_supported(f"the annotation `{text[:100]}`", position, option)
    if "." in path[-1]:
        what = f"`{text[:100]}`, an action, a function or all of a namespace"
        raise faults.not_supported(what, position, option)
    if "$" in text:
        message = f"`{text[:100]}` is no property. {_EXAMPLE}"
        raise faults.misused(position, message, option)
    return SelectItem(path, position)
