"""The log, to the standard error stream: short lines on a terminal, elsewhere JSON objects.

A request's line contains its path but not its query, whose values may be personal, and never a
header, a body or a token. With the level `debug`, it has the query too, without secrets.
"""

import asyncio
import logging
import os
import re
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
from comptoir.http.redaction import Redactor

FLUSH_SECONDS = 0.1
"""Seconds between two writes to the log; a killed process loses the lines in between."""

_ATOMIC_BYTES = 4_096
"""Bytes that a pipe accepts in one piece."""
_MAX_PATH = 500
_CLOCK = "%H:%M:%S"
_COMPANY = "/companies("
_ID = re.compile(r"(?<=[(=])([0-9a-f]{4})[0-9a-f]{4}-[0-9a-f-]{27}(?=[,)])", re.IGNORECASE)

_encode = msgspec.json.Encoder().encode


def short_path(path: str) -> str:
    """A path without what precedes the resource, and with the beginnings of ids alone."""
    # not by a pattern, whose search would take hours for a path with many companies
    resource = path.rpartition(_COMPANY)[2].partition(")/")[2] if _COMPANY in path else ""
    return _ID.sub(r"\1…", resource or path)


class RequestLog:
    """Writes a line per request; `debug` includes queries and the checks that refused."""

    def __init__(self, level: str, redactor: Redactor, descriptor: int = 2) -> None:
        self._min_status = {"debug": 0, "info": 0, "warning": 400, "off": 1_000}[level]
        self._redactor = redactor if level == "debug" else None
        self._descriptor = descriptor
        self._line = _short_line if os.isatty(descriptor) else _json_line

    def write(self, exchanges: Iterable[Exchange]) -> None:
        """Write the lines of exchanges that have ended."""
        piece = b""
        for exchange in exchanges:
            if exchange.status < self._min_status:
                continue
            line = self._line(exchange, self._redactor)
            if piece and len(piece) + len(line) > _ATOMIC_BYTES:
                os.write(self._descriptor, piece)
                piece = b""
            piece += line
        if piece:
            os.write(self._descriptor, piece)


def _json_line(exchange: Exchange, redactor: Redactor | None) -> bytes:
    second, fraction = divmod(exchange.ended_at, 1)
    path = exchange.path[:_MAX_PATH]
    line: dict[str, str | int | float | list[str]] = {
        "time": f"{_second(int(second))}.{int(fraction * 1_000):03d}Z",
        "level": "info" if exchange.status < 500 else "error",
        "event": "request",
        "id": exchange.id,
        "method": exchange.method[:20],
        "path": path if redactor is None else redactor.path(path),
        "status": exchange.status,
        "bytes": exchange.size,
        "ms": round(exchange.seconds * 1_000, 3),
        "by": exchange.subject,
        "client": exchange.client,
    }
    if exchange.fault:
        line["fault"] = exchange.fault
    if redactor is not None:
        line["query"] = redactor.query(exchange.query)[:_MAX_PATH]
        line["checks"] = [each.check for each in exchange.refused]
    return _encode(line) + b"\n"


def _short_line(exchange: Exchange, redactor: Redactor | None) -> bytes:
    """A line for people: the time, what was asked, the status, the check, the duration."""
    asked = short_path(exchange.path[:_MAX_PATH])
    if redactor is not None:
        asked = redactor.path(asked)
        if exchange.query:
            asked += f"?{redactor.query(exchange.query)[:_MAX_PATH]}"
    parts = [
        datetime.fromtimestamp(exchange.ended_at).astimezone().strftime(_CLOCK),
        exchange.method[:20],
        # a client may send what controls a terminal
        "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in asked),
        str(exchange.status),
    ]
    if redactor is not None or exchange.status >= 400:
        parts += dict.fromkeys(each.check for each in exchange.refused)
    if exchange.fault:
        parts.append(f"({exchange.fault})")
    return f"{' '.join(parts)} {exchange.seconds * 1_000:.1f} ms\n".encode()


@lru_cache(2)
def _second(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class Journal:
    """Logs and counts exchanges, many at a time because each write has a noticeable cost."""

    def __init__(self, log: RequestLog, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._ended: list[Exchange] = []
        self._counted: list[Exchange] = []

    def end(self, exchange: Exchange, *, is_counted: bool = True) -> None:
        """End an exchange and record it; one that failed is logged at once."""
        exchange.end()
        if not self._ended:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        self._ended.append(exchange)
        if is_counted:
            self._counted.append(exchange)
        if exchange.status >= 500:
            self.flush()

    def flush(self) -> None:
        """Log and count the collected exchanges."""
        ended, self._ended = self._ended, []
        counted, self._counted = self._counted, []
        self._metrics.count(counted)
        # requests must not fail because the log cannot be written
        with suppress(OSError):
            self._log.write(ended)

    def exposition(self) -> bytes:
        """The metrics, up to the latest exchange."""
        self.flush()
        self._metrics.sample()
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
    for_people = logging.Formatter("%(asctime)s %(levelname)s %(message)s", _CLOCK)
    handler.setFormatter(for_people if sys.stderr.isatty() else JsonFormatter())
    least = {"warning": logging.WARNING, "off": logging.CRITICAL}.get(level, logging.INFO)
    logging.basicConfig(level=least, handlers=[handler], force=True)
    if level == "debug":
        logging.getLogger("comptoir").setLevel(logging.DEBUG)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
