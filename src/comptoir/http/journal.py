"""Where exchanges go when they have ended: gathered for a moment, then logged and counted."""

import asyncio
from contextlib import suppress

from comptoir.http.exchange import Exchange
from comptoir.http.log import RequestLog
from comptoir.http.metrics import Metrics

FLUSH_SECONDS = 0.1
"""How long exchanges are gathered; those of a process that is killed within it are not logged."""


class Journal:
    """Logs and counts exchanges, many at a time: one by one would cost each a good part of it."""

    def __init__(self, log: RequestLog, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._ended: list[Exchange] = []

    def end(self, exchange: Exchange) -> None:
        """Take an exchange that has ended; one that failed is logged at once."""
        exchange.end()
        if not self._ended:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        self._ended.append(exchange)
        if exchange.status >= 500:
            self.flush()

    def flush(self) -> None:
        """Log and count what was gathered."""
        ended, self._ended = self._ended, []
        self._metrics.count(ended)
        # a log that cannot be written is no reason to fail the requests
        with suppress(OSError):
            self._log.write(ended)

    def exposition(self) -> bytes:
        """The metrics, what was gathered included."""
        self.flush()
        return self._metrics.exposition()
