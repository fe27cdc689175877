"""Counts and times for Prometheus (text exposition format)."""

import os
from collections.abc import Iterable
from time import time

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from comptoir.http.exchange import Exchange
from comptoir.store.writer import Condition

AHEAD_UNTIL = "comptoir_last_change_ahead_until_timestamp_seconds"
STORED_AT = "comptoir_last_write_timestamp_seconds"
FULL_AT = "comptoir_disk_full_timestamp_seconds"

MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable by which the workers of a service share their metrics."""

CONTENT_TYPE = CONTENT_TYPE_LATEST
_METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"})
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """Counts requests by method and status, measures them, and counts reads by replicas."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "comptoir_requests",
            "Requests, by method and status.",
            ("method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "comptoir_request_seconds",
            "Seconds from the arrival of a request to the end of its response.",
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._ahead_until = self._latest(
            AHEAD_UNTIL, "The latest time of a change that is ahead of the clock; 0 for none."
        )
        self._stored_at = self._latest(STORED_AT, "When a change was last stored; 0 for never.")
        self._full_at = self._latest(
            FULL_AT,
            "When a write last failed because the disk of the database was full; 0 for never.",
        )
        self._condition: Condition | None = None
        self._replica_reads = Counter(
            "comptoir_replica_reads",
            "Reads that a replica may serve, by outcome: served, or why not.",
            ("outcome",),
            registry=self._registry,
        )

    def _latest(self, name: str, description: str) -> Gauge:
        """A time, of which the latest of all workers counts."""
        return Gauge(name, description, registry=self._registry, multiprocess_mode="max")

    def watch(self, condition: Condition) -> None:
        """Include the condition of a store."""
        self._condition = condition

    def count_replica_read(self, outcome: str) -> None:
        """Count the outcome of a read that a replica may serve."""
        self._replica_reads.labels(outcome).inc()

    def count(self, exchanges: Iterable[Exchange]) -> None:
        """Count exchanges that have ended, and record the condition of the store."""
        if self._condition is not None:
            self._ahead_until.set(self._condition.ahead_until)
            self._stored_at.set(self._condition.stored_at)
            self._full_at.set(self._condition.full_at)
        numbers: dict[tuple[str, int], int] = {}
        for exchange in exchanges:
            # a client may send any method
            method = exchange.method if exchange.method in _METHODS else "other"
            key = (method, exchange.status)
            numbers[key] = numbers.get(key, 0) + 1
            self._seconds.observe(exchange.seconds)
        for (method, status), number in numbers.items():
            self._requests.labels(method, str(status)).inc(number)

    def exposition(self) -> bytes:
        """The metrics of this service, with those of all of its workers."""
        registry = self._registry
        if MULTIPROCESS_FOLDER in os.environ:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + generate_latest(_Derived(registry))


class _Derived(Collector):
    """Metrics derived from times that all workers have recorded, when they are read."""

    def __init__(self, recorded: CollectorRegistry) -> None:
        self._recorded = recorded

    @override
    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "comptoir_last_change_ahead_seconds",
            "Seconds by which the last change of a company is ahead of the clock, or 0.",
            value=max(self._value(AHEAD_UNTIL) - time(), 0.0),
        )
        yield GaugeMetricFamily(
            "comptoir_disk_full",
            "1 if the disk of the database was full at the last write, else 0.",
            value=float(self._value(FULL_AT) > self._value(STORED_AT)),
        )

    def _value(self, name: str) -> float:
        return self._recorded.get_sample_value(name) or 0.0
