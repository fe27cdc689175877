"""The form of every message that a client or an operator reads.

A message is `<what is wrong>[ at column N of OPTION]. <what to do>.` It writes the names of
properties, options and headers as the client wrote them, and puts values in single quotes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from string import Formatter

LONGEST_NAME = 40
"""The longest name, in characters, for which a message suggests another one."""

MOST_NAMES = 100
"""Names that a misspelled one is compared with; a client may compute any number of its own."""

SHOWN = 40
"""Characters of a client's text that a message repeats."""

_SUFFIX = "ext"
_NOT_IN_DESCRIPTION = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")


def message(problem: str, remedy: str, *, column: int | None = None, option: str = "") -> str:
    """What is wrong, where, and what to do.

    `problem` is a sentence without its full stop; `remedy` is one or more whole sentences. `column`
    counts from 1 in the text of the query option `option`.
    """
    place = "" if column is None else f" at column {column}"
    if place and option:
        place += f" of {option}"
    return f"{problem}{place}. {remedy}"


def quoted(text: str) -> str:
    """A client's text in single quotes, or double ones if it has single ones; cut to `SHOWN`.

    Characters that are not printable, such as a line end or a no-break space, are escaped.
    """
    mark = '"' if "'" in text else "'"
    shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    if not shown.isprintable():
        shown = "".join([each if each.isprintable() else repr(each)[1:-1] for each in shown])
    return f"{mark}{shown}{mark}"


@lru_cache(1_000)
def _fields(template: str) -> Sequence[tuple[str, str | None, str | None, str | None]]:
    return tuple(Formatter().parse(template))


def filled(template: str, facts: Mapping[str, str | int | float]) -> str:
    """A text with facts in place of their names, as `{name:.20}`; `{name!q}` is `quoted`."""
    parts = []
    for text, name, form, conversion in _fields(template):
        parts.append(text)
        if name is not None:
            fact = facts[name]
            parts.append(quoted(f"{fact}") if conversion == "q" else format(fact, form or ""))
    return "".join(parts)


def time_text(seconds: float) -> str:
    """A time in seconds since 1970 as RFC 3339 in UTC, without fractions."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def description(text: str) -> str:
    """A message for an OAuth error, with `...` or `'` for characters that it cannot contain.

    RFC 6749, 5.2 and RFC 6750, 3 allow printable ASCII without `"` and the backslash.
    """
    return _NOT_IN_DESCRIPTION.sub("'", text.replace("…", "..."))


def suggestion(name: str, known: Iterable[str]) -> str:
    """A question that names the known name most like `name`; empty if there is none.

    The case does not matter, and neither does the suffix `Ext`.
    """
    if len(name) > LONGEST_NAME:
        return ""
    wanted = name.lower()
    by_lower = {each.lower(): each for each in islice(known, MOST_NAMES)}
    same = [form for form in (wanted, wanted + _SUFFIX) if form in by_lower]
    found = same or get_close_matches(wanted, by_lower, n=1)
    return f"Did you mean {by_lower[found[0]]}?" if found else ""
