"""The routines of PostgreSQL: functions `comptoir_…` in SQL and PL/pgSQL.

They compute what PostgreSQL cannot compute by itself, with the results of the Python functions on
SQLite. `migrate` creates them, with the right to create functions and the collation "C" alone. A
value that cannot be computed raises an error with the SQLSTATE `NOT_COMPUTED`, the name of a row of
refusals as its message, and the fact `what` of the row as its detail.
A function that may raise it is volatile, so that the planner never computes it before the rows. A
name in braces in the files is a key of `_values`. The statements contain the rules of case of the
Python that creates them.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from hashlib import sha256
from importlib.resources import files
from unicodedata import category, unidata_version

from comptoir.edm.numbers import MOST_DECIMAL, MOST_WHOLE, SCALE, UNIT, WHOLE_DIGITS
from comptoir.edm.times import DAY, SECOND
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal, RefusalRow
from comptoir.plan.expressions.types import (
    FINER,
    LARGEST,
    LONGEST_TEXT,
    WIDE_SCALE,
    WIDE_UNIT,
    wide_text,
)

NOT_COMPUTED = "CO400"
"""The SQLSTATE of a value that cannot be computed."""

SEPARATOR = "Þ"
"""Separates the folded texts of a record: a capital letter, which no folded text contains.

It has two bytes, as `comptoir_fold` expects.
"""

_FILES = ("numbers", "totals", "casts", "times", "texts")
_NAME = re.compile(r"\{([a-z_]+)\}")
_STATEMENT = re.compile(r"^CREATE .*?;$(?=\n\n|\n\Z)", re.DOTALL | re.MULTILINE)

_UNASSIGNED = frozenset({"Cn", "Co", "Cs"})
"""The categories of code points without a character: unassigned, private, surrogates."""


@cache
def routine_statements() -> tuple[str, ...]:
    """The statements that create the functions in the first schema of the search path, in order.

    They may run again at any time.
    """
    values = _values()
    return tuple(
        _NAME.sub(lambda match: values[match[1]], statement)
        for text in _templates()
        for statement in _STATEMENT.findall(text)
    )


def not_computed(row: str, what: str) -> Refusal:
    """The refusal that a routine raises by the name and the fact of its row."""
    found: RefusalRow = getattr(rows, row)
    return found(what=what, digits=WHOLE_DIGITS, decimals=WIDE_SCALE, scale=SCALE)


def routines_digest(revision: str) -> str:
    """A digest of what the statements are built from, which costs much less than the statements.

    It covers the files, the version of Unicode, and the revision: a change to the values in braces
    needs a new revision.
    """
    return sha256("\n".join([revision, unidata_version, *_templates()]).encode()).hexdigest()


def _templates() -> list[str]:
    return [files(__package__).joinpath(f"{name}.sql").read_text("utf-8") for name in _FILES]


def _values() -> dict[str, str]:
    """The values for the names in braces."""
    blanks = "".join([each for each in map(chr, range(1, sys.maxunicode)) if each.isspace()])
    # after a cased character, a last Σ becomes ς; ignorable ones may be between them
    cased = [each for each in _assigned() if f"{each}Σ".lower()[-1] == "ς"]
    ignorable = [each for each in _assigned() if f"A{each}Σ".lower()[-1] == "ς"]
    ignorable = sorted(set(ignorable).difference(cased))
    days = (date.max - date.min).days + 1
    return {
        "not_computed": NOT_COMPUTED,
        "scale": str(SCALE),
        "unit": str(UNIT),
        "fifth": f"{Decimal(10) ** -SCALE:f}",
        "most_whole": str(MOST_WHOLE),
        "most_decimal": str(MOST_DECIMAL),
        "largest_scaled": str(MOST_DECIMAL // UNIT),
        "beyond_decimals": str(10**WHOLE_DIGITS),
        "wide_scale": str(WIDE_SCALE),
        "wide_unit": str(WIDE_UNIT),
        "finest": f"{Decimal(10) ** -WIDE_SCALE:f}",
        "finer": str(FINER),
        "largest": str(LARGEST),
        "width": str(len(wide_text(0))),
        "millisecond": str(SECOND // 1_000),
        "minute": str(60 * SECOND),
        "hour": str(3_600 * SECOND),
        "day": str(DAY),
        "days": str(days),
        "moments": str(days * DAY),
        **_cases("lowered", str.lower),
        **_cases("uppered", str.upper),
        **_cases("folded", str.casefold),
        "cased": _members(cased).replace("'", "''"),
        "ignorable": _members(ignorable).replace("'", "''"),
        "separator": SEPARATOR,
        "blanks": _quoted(blanks),
        "most_characters": str(LONGEST_TEXT),
    }


def _quoted(text: str) -> str:
    """A literal that means the same with all settings of the session."""
    return f"""E'{text.replace(chr(92), 2 * chr(92)).replace("'", "''")}'"""


def _cases(name: str, change: Callable[[str], str]) -> Mapping[str, str]:
    """The replacements of the characters that a change of case changes, those of ASCII left out.

    As JSON by the name, and by `not_` and the name, a class of the characters that stay as they
    are. The results of `change` stay. Databases change case by other rules than Python, and by
    other versions of Unicode.
    """
    characters = [each for each in _assigned() if not each.isascii()]
    results = zip(characters, map(change, characters), strict=True)
    changed = {each: other for each, other in results if other != each}
    encoded = json.dumps(changed, ensure_ascii=False, separators=(",", ":"))
    return {f"not_{name}": _quoted(f"[^{_members(changed)}]+"), name: _quoted(encoded)}


@cache
def _assigned() -> Sequence[str]:
    """The assigned characters; Unicode has no rules of case for others."""
    return [
        each for each in map(chr, range(1, sys.maxunicode + 1)) if category(each) not in _UNASSIGNED
    ]


def _members(characters: Iterable[str]) -> str:
    """Characters as in a class."""
    runs: list[tuple[str, str]] = []
    for each in characters:
        if runs and ord(runs[-1][1]) == ord(each) - 1:
            runs[-1] = (runs[-1][0], each)
        else:
            runs.append((each, each))
    return "".join([first if first == last else f"{first}-{last}" for first, last in runs])
