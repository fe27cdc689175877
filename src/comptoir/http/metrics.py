"""Counts and times for Prometheus (text exposition format)."""

import os
from time import perf_counter

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
    multiprocess,
)

from comptoir.http.exchange import Exchange

MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that makes the workers of one service count together."""

CONTENT_TYPE = CONTENT_TYPE_LATEST
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """Counts requests by method and status, and measures how long they took."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "comptoir_requests",
            "Requests answered.",
            ("method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "comptoir_request_seconds",
            "Seconds from a request's arrival to the end of its answer.",
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._known: dict[tuple[str, int], Counter] = {}

    def count(self, exchange: Exchange) -> None:
        """Count an exchange that has ended."""
        key = (exchange.method, exchange.status)
        counter = self._known.get(key)
        if counter is None:
            # methods are the client's to invent, so those that fail are counted under one name
            method = exchange.method if exchange.status < 400 else _known_method(exchange.method)
            counter = self._requests.labels(method, str(exchange.status))
            if len(self._known) < 1_000:
                self._known[key] = counter
        counter.inc()
        self._seconds.observe(perf_counter() - exchange.started)

    def exposition(self) -> bytes:
        """The metrics of this service, of all its workers if it has several."""
        if MULTIPROCESS_FOLDER not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def _known_method(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE") else "other"
