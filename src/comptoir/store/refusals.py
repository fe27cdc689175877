"""Refusals that every database raises in the same words."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from threading import Lock

from comptoir.edm.model import EntitySet
from comptoir.errors import (
    DATABASE_BUSY,
    INVALID_URL,
    KEY_EXISTS,
    NOT_IMPLEMENTED,
    UNAVAILABLE,
    ErrorType,
    Refusal,
    RefusalCondition,
)
from comptoir.sql.tables import COMPANY_ID

_log = logging.getLogger(__name__)


IS_REPEATED = ContextVar("is_repeated", default=False)
"""Whether this work has failed just before, so that its errors are in the log already."""


def log_database_error(text: str) -> None:
    """Log an error of the database, unless the same work has failed just before."""
    if not IS_REPEATED.get():
        _log.error("database error: %s", text)


class DatabaseErrors:
    """Counts the errors of the databases of this process by code; any thread may add one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter()

    def add(self, error: ErrorType) -> None:
        """Count an error."""
        with self._lock:
            self._counts[error.code] += 1

    def take(self) -> Mapping[str, int]:
        """The errors since the last call."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return counts


DATABASE_ERRORS = DatabaseErrors()


def database_failed(error: ErrorType, problem: str, remedy: str, seconds: int) -> Refusal:
    """503 for a fault of the database, which may be gone after this many seconds; counts it."""
    DATABASE_ERRORS.add(error)
    return Refusal(error, problem, remedy, headers={"Retry-After": f"{seconds}"})


class LockedRefusal(Refusal):
    """503: another session held a lock for too long."""

    def on(self, entity_set: EntitySet) -> Refusal:
        """The refusal of a write to this set; its transaction may have had others."""
        refusal = Refusal(self.error, self.problem, self.remedy, headers=self.headers)
        return refusal.with_condition(RefusalCondition.LOCKED, table=entity_set.type.caption)


def locked(problem: str, remedy: str) -> LockedRefusal:
    """503: another session held a lock for too long; counts it."""
    DATABASE_ERRORS.add(DATABASE_BUSY)
    return LockedRefusal(DATABASE_BUSY, problem, remedy, headers={"Retry-After": "1"})


def duplicate(columns: Iterable[str]) -> Refusal:
    """409 after the database found the same values of these columns in another row."""
    names = ", ".join(name for name in columns if name != COMPANY_ID) or "id"
    return Refusal(
        KEY_EXISTS,
        f"Another record has the same {names}, which must be unique",
        "Send other values, or update that record.",
        target=names,
    )


def too_slow(seconds: float) -> Refusal:
    """503 for a read that was stopped after this many seconds."""
    return Refusal(
        UNAVAILABLE,
        f"The query took longer than {seconds:g} s",
        "Narrow the filter, or sort by the key.",
        headers={"Retry-After": "5"},
    ).with_condition(RefusalCondition.LONG_WORK)


def not_computable(cause: str) -> Refusal:
    """400 for a query whose result is undefined, or too large for its type."""
    return Refusal(
        INVALID_URL,
        f"The query cannot be computed: {cause.removesuffix('.')}",
        "Change the expression, or exclude the records with such values.",
    )


def too_complex() -> Refusal:
    """501 for an expression that exceeds a limit of the database."""
    return Refusal(
        NOT_IMPLEMENTED,
        "The expression is too large for the database",
        "Split the query into smaller ones.",
    )
