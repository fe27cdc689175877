"""A dialect is a table of functions: OData's name to how the database computes the same.

`tolower` and `toupper` mean what Python's `str.lower` and `str.upper` mean, on every store: the
databases' own differ from it and from one another, so SQLite gets these two registered, and the
folding of searches (`comptoir.plan.searches.fold`) as well.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlalchemy import ColumnElement, Integer, func, or_

from comptoir.sql.prepared import constant

LOWER = "comptoir_lower"
UPPER = "comptoir_upper"
FOLD = "comptoir_fold"
TRIGRAMS = "comptoir_trigrams"

Operand = ColumnElement[str | int]
SqlExpression = ColumnElement[bool] | ColumnElement[str] | ColumnElement[int] | Operand
FunctionTable = Mapping[str, Callable[..., SqlExpression]]


def _contains(text: Operand, part: Operand) -> ColumnElement[bool]:
    return func.instr(text, part, type_=Integer) > constant(0)


def _startswith(text: Operand, part: Operand) -> ColumnElement[bool]:
    return func.substr(text, constant(1), func.length(part)) == part


def _endswith(text: Operand, part: Operand) -> ColumnElement[bool]:
    # substr from -0 on is the whole text, which the empty part must still be the end of
    return or_(func.length(part) == constant(0), func.substr(text, -func.length(part)) == part)


SQLITE: FunctionTable = MappingProxyType(
    {
        "contains": _contains,
        "startswith": _startswith,
        "endswith": _endswith,
        "tolower": getattr(func, LOWER),
        "toupper": getattr(func, UPPER),
        "fold": getattr(func, FOLD),
        "length": lambda text: func.length(text, type_=Integer),
    }
)
