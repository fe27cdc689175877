"""Refusals that every database raises in the same words."""

import logging
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from contextvars import ContextVar

from comptoir.edm.model import EntitySet
from comptoir.errors import refusal_rows
from comptoir.errors.refusal import Refusal, RefusalRow
from comptoir.sql.tables import COMPANY_ID

_log = logging.getLogger(__name__)


IS_REPEATED = ContextVar("is_repeated", default=False)
"""Whether this work has failed just before, so that its errors are in the log already."""


def log_database_error(text: str) -> None:
    """Log an error of the database, unless the same work has failed just before."""
    if not IS_REPEATED.get():
        _log.error("database error: %s", text)


_codes: deque[str] = deque()


def taken_errors() -> Mapping[str, int]:
    """The errors of the databases of this process by code, since the last call."""
    return Counter(_codes.popleft() for _ in range(len(_codes)))


def database_failed(row: RefusalRow) -> Refusal:
    """503 for an error of the database; counts it."""
    # any thread may do this
    _codes.append(row.error.code)
    return row()


def of_write(refusal: Refusal, entity_set: EntitySet) -> Refusal:
    """The refusal of a write to a set; that of a lock is a new one, as the transaction had many."""
    if refusal.row is not refusal_rows.LOCKED:
        return refusal
    return refusal_rows.LOCKED().grouped("LOCKED", table=entity_set.type.caption)


def duplicate(columns: Iterable[str]) -> Refusal:
    """409 after the database found the same values of these columns in another row."""
    names = ", ".join(name for name in columns if name != COMPANY_ID) or "id"
    return refusal_rows.DUPLICATE(names, names=names)
