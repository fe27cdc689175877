"""When the statement of a connection must end: asked by the functions that SQLite calls.

The database looks whether it is interrupted between two records, but not within a record and not
within a function.
"""

from math import inf
from time import monotonic, thread_time


class OverLimitError(Exception):
    """Raised within a function of a connection whose statement must end."""


class Limit:
    """How long a connection's statement may take, or the word that it must end now."""

    def __init__(self) -> None:
        self._stopped = False
        self._seconds = self._ends_at = inf
        self._used_up_at: float | None = None

    def begin(self, seconds: float = inf) -> None:
        """Let a statement begin, which may take some seconds.

        When they are over it may use the processor for as long again: the thread may have waited.
        """
        self._stopped = False
        self._seconds = seconds
        self._ends_at = monotonic() + seconds
        self._used_up_at = None

    def stop(self) -> None:
        """End the statement under way. Any thread may call this."""
        self._stopped = True

    def is_over(self) -> bool:
        """Whether the statement must end; to be asked on its own thread."""
        if self._stopped:
            return True
        if monotonic() <= self._ends_at:
            return False
        used = thread_time()
        if self._used_up_at is None:
            self._used_up_at = used + self._seconds
        return used > self._used_up_at

    def check(self) -> None:
        """Raise `OverLimitError` when the statement must end."""
        if self.is_over():
            raise OverLimitError
