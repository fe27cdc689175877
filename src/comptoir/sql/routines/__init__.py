"""What PostgreSQL is taught: functions `comptoir_…` that compute as Python does on SQLite.

They need no rights but to create functions, and no collation but "C". A value that cannot be
computed is a fault of the SQLSTATE `NOT_COMPUTED`, with the message that SQLite's functions give.
A function that can raise it is volatile: no planner may compute it ahead of the rows. In the files
a name in braces stands for a value that Python knows.
"""

import re
import sys
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.resources import files

from comptoir.edm.duration import DAY, SECOND
from comptoir.edm.number import SCALE
from comptoir.plan.expressions.kinds import MOST_DECIMAL, MOST_WHOLE
from comptoir.plan.expressions.wide import FINER, LARGEST, WIDE_SCALE, wide_text
from comptoir.sql.functions import MOST_CHARACTERS
from comptoir.sql.routines.cases import cased, cases, ignorable
from comptoir.sql.routines.quoting import quoted

NOT_COMPUTED = "CO400"
"""The SQLSTATE of a value that cannot be computed."""

SEPARATOR = "Þ"
"""Parts the texts of a record that is searched: a capital, which no folded text or term holds.

It has two octets, as `comptoir_fold` expects.
"""

_FILES = ("numbers", "totals", "casts", "times", "texts")
_NAME = re.compile(r"\{([a-z_]+)\}")
_STATEMENT = re.compile(r"^CREATE .*?;$(?=\n\n|\n\Z)", re.DOTALL | re.MULTILINE)


@cache
def routine_statements() -> tuple[str, ...]:
    """The statements that bring the functions into the first schema of the search path, in order.

    They may be run again at any time.
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
    """What stands for the names in braces."""
    blanks = "".join([each for each in map(chr, range(1, sys.maxunicode)) if each.isspace()])
    lower, upper, folded = cases(str.lower), cases(str.upper), cases(str.casefold)
    days = (date.max - date.min).days + 1
    return {
        "fault": NOT_COMPUTED,
        "scale": str(SCALE),
        "unit": str(10**SCALE),
        "fifth": f"{Decimal(10) ** -SCALE:f}",
        "most_whole": str(MOST_WHOLE),
        "most_decimal": str(MOST_DECIMAL),
        "largest_scaled": str(MOST_DECIMAL // 10**SCALE),
        "beyond_decimals": str(LARGEST // 10**WIDE_SCALE),
        "wide_scale": str(WIDE_SCALE),
        "wide_unit": str(10**WIDE_SCALE),
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
        "most_characters": str(MOST_CHARACTERS),
    }
