"""The log: one JSON object per line, to the standard error stream.

A request's line contains its path but not its query, whose values may be personal, and never a
header, a body or a token.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache

import msgspec
from typing_extensions import override

from comptoir.edm.times import instant
from comptoir.http.exchange import Exchange
from comptoir.http.metrics import Metrics

FLUSH_SECONDS = 0.1
"""Seconds between two writes to the log; a killed process loses the lines in between."""

_ATOMIC_BYTES = 4_096
"""Bytes that a pipe accepts in one piece."""
_MAX_PATH = 500

_encode = msgspec.json.Encoder().encode


class RequestLog:
    """Writes a line per request."""

    def __init__(self, level: str, descriptor: int = 2) -> None:
        self._min_status = {"info": 0, "warning": 400, "off": 1_000}[level]
        self._descriptor = descriptor

    def write(self, exchanges: Iterable[Exchange]) -> None:
        """Write the lines of exchanges that have ended."""
        piece = b""
        for exchange in exchanges:
            if exchange.status < self._min_status:
                continue
            line = _line(exchange)
            if piece and len(piece) + len(line) > _ATOMIC_BYTES:
                os.write(self._descriptor, piece)
                piece = b""
            piece += line
        if piece:
            os.write(self._descriptor, piece)


class _Line(msgspec.Struct):
    """The line of a request, with its members in the order of the output."""

    time: str
    level: str
    event: str
    id: str
    method: str
    path: str
    status: int
    bytes: int
    ms: float
    by: str
    client: str


def _line(exchange: Exchange) -> bytes:
    second, fraction = divmod(exchange.ended_at, 1)
    line = _Line(
        f"{_second(int(second))}.{int(fraction * 1_000):03d}Z",
        "info" if exchange.status < 500 else "error",
        "request",
        exchange.id,
        exchange.method[:20],
        exchange.path[:_MAX_PATH],
        exchange.status,
        exchange.size,
        round(exchange.seconds * 1_000, 3),
        exchange.subject,
        exchange.client,
    )
    return _encode(line) + b"\n"


@lru_cache(2)
def _second(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class Journal:
    """Logs and counts exchanges, many at a time because each write has a noticeable cost."""

    def __init__(self, log: RequestLog, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._ended: list[Exchange] = []

    def end(self, exchange: Exchange) -> None:
        """End an exchange and record it; one that failed is logged at once."""
        exchange.end()
        if not self._ended:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        self._ended.append(exchange)
        if exchange.status >= 500:
            self.flush()

    def flush(self) -> None:
        """Log and count the collected exchanges."""
        ended, self._ended = self._ended, []
        self._metrics.count(ended)
        # requests must not fail because the log cannot be written
        with suppress(OSError):
            self._log.write(ended)

    def exposition(self) -> bytes:
        """The metrics, up to the latest exchange."""
        self.flush()
        return self._metrics.exposition()


class JsonFormatter(logging.Formatter):
    """Formats log records of the program and its libraries as lines of the same form."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": instant(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "event": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _encode(line).decode()


def set_up_logging(level: str) -> None:
    """Send the log records of the program and its libraries to the standard error stream."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    least = {"info": logging.INFO, "warning": logging.WARNING, "off": logging.CRITICAL}[level]
    logging.basicConfig(level=least, handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
