"""What PostgreSQL cannot compute by itself, as functions `comptoir_…` in SQL and PL/pgSQL.

They compute what the Python functions on SQLite compute. `migrate` needs only the right to create
functions, and the only collation is "C". A value that cannot be computed raises an error with the
SQLSTATE `NOT_COMPUTED` and SQLite's message. A function that can raise it is volatile, so that the
planner never computes it ahead of the rows. A name in braces in the files is a value of `_values`.
"""

import re
import sys
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files

from comptoir.edm.numbers import MOST_DECIMAL, MOST_WHOLE, SCALE, UNIT, WHOLE_DIGITS
from comptoir.edm.times import DAY, SECOND
from comptoir.plan.expressions.types import FINER, LARGEST, WIDE_SCALE, WIDE_UNIT, wide_text
from comptoir.sql.dialects import LONGEST_TEXT
from comptoir.sql.dialects.postgresql.routines.cases import cased, cases, ignorable
from comptoir.sql.dialects.postgresql.routines.quoting import quoted

NOT_COMPUTED = "CO400"
"""The SQLSTATE of a value that cannot be computed."""

SEPARATOR = "Þ"
"""Separates the folded texts of a record: a capital letter, which folding never leaves.

It has two bytes, as `comptoir_fold` expects.
"""

_FILES = ("numbers", "totals", "casts", "times", "texts")
_NAME = re.compile(r"\{([a-z_]+)\}")
_STATEMENT = re.compile(r"^CREATE .*?;$(?=\n\n|\n\Z)", re.DOTALL | re.MULTILINE)


@cache
def routine_statements() -> tuple[str, ...]:
    """The statements that create the functions in the first schema of the search path, in order.

    They may run again at any time.
    """
    values = _values()
    texts = [files(__package__).joinpath(f"{name}.sql").read_text("utf-8") for name in _FILES]
    return tuple(
        [
            _NAME.sub(lambda match: values[match[1]], statement)
            for text in texts
            for statement in _STATEMENT.findall(text)
        ]
    )


def _values() -> dict[str, str]:
    """The values for the names in braces."""
    blanks = "".join([each for each in map(chr, range(1, sys.maxunicode)) if each.isspace()])
    lower, upper, folded = cases(str.lower), cases(str.upper), cases(str.casefold)
    days = (date.max - date.min).days + 1
    return {
        "fault": NOT_COMPUTED,
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
        "not_lowered": lower.others,
        "lowered": lower.changed,
        "not_uppered": upper.others,
        "uppered": upper.changed,
        "not_folded": folded.others,
        "folded": folded.changed,
        "cased": cased().replace("'", "''"),
        "ignorable": ignorable().replace("'", "''"),
        "separator": SEPARATOR,
        "blanks": quoted(blanks),
        "most_characters": str(LONGEST_TEXT),
        "whole_digits": str(WHOLE_DIGITS),
    }
