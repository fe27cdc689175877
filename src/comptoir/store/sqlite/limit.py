"""When the statement of a connection must end: asked by the functions that SQLite calls.

The database looks whether it is interrupted between two records, but not within a record and not
within a function.
"""

from math import inf
from time import monotonic


class OverLimitError(Exception):
    """Raised within a function of a connection whose statement must end."""


class Limit:
    """The time at which a connection's statement must end, or the word that it must end now."""

    def __init__(self) -> None:
        self._ends_at = inf
        self._stopped = False

    def begin(self, seconds: float = inf) -> None:
        """Let a statement begin, which may take some seconds."""
        self._stopped = False
        self._ends_at = monotonic() + seconds

    def stop(self) -> None:
        """End the statement under way. Any thread may call this."""
        self._stopped = True

    def is_over(self) -> bool:
        """Whether the statement must end."""
        return self._stopped or monotonic() > self._ends_at

    def check(self) -> None:
        """Raise `OverLimitError` when the statement must end."""
        if self._stopped or monotonic() > self._ends_at:
            raise OverLimitError
