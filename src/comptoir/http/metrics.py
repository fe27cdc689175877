"""Counts and times for Prometheus (text exposition format)."""

import resource
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from pathlib import Path
from time import time
from typing import NamedTuple

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString
from typing_extensions import override

from comptoir.errors.refusal import ExceededLimit
from comptoir.errors.table import SLOW_DOWN
from comptoir.http.exchange import Exchange
from comptoir.http.link import Counted, Key, Link, Mode, decode
from comptoir.http.tls import PRESENTED
from comptoir.request.path import READ_METHODS, WRITE_METHODS
from comptoir.store.control import ControlWatch
from comptoir.store.refusals import taken_errors
from comptoir.store.store import Store

_PREFIX = "comptoir_"

CONTENT_TYPE = CONTENT_TYPE_LATEST
_DESCRIPTORS = Path("/dev/fd")
"""The folder of the descriptors that a process has open, on Linux and macOS."""

_METHODS = READ_METHODS | WRITE_METHODS | {"OPTIONS"}
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_LAG_BUCKETS = (0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400)


class _Declared(NamedTuple):
    """A metric: how those of all workers are combined, and its labels or its buckets.

    It is a counter if it is a sum, without buckets, and else a gauge: `max` for a time of which
    the latest counts, `livemax` and `livesum` for a number of the running workers.
    """

    mode: Mode
    name: str
    description: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()


# fmt: off
_METRICS = (
    _Declared("sum", "requests", "Requests, by method and status.", ("method", "status")),
    _Declared("sum", "request_seconds",
        "Seconds from the arrival of a request to the end of its response.", bounds=_BUCKETS),
    _Declared("max", "last_change_ahead_until_timestamp_seconds",
        "The latest time of a change that is ahead of the clock; 0 for none."),
    _Declared("max", "last_write_timestamp_seconds",
        "When a change was last stored; 0 for never."),
    _Declared("max", "disk_full_timestamp_seconds",
        "When a write last failed because the disk of the database was full; 0 for never."),
    _Declared("sum", "refused",
        "Requests that got an error, also within batches, by its code.", ("code",)),
    _Declared("livesum", "queued_writes", "Writes that wait or run."),
    _Declared("livesum", "queued_scans", "Long reads that wait."),
    _Declared("livesum", "scans_running", "Long reads that run."),
    _Declared("livesum", "scan_threads", "Long reads that may run at once."),
    _Declared("livesum", "database_connections", "Connections to PostgreSQL, by state.",
        ("state",)),
    _Declared("livesum", "client_connections", "Open connections of clients."),
    _Declared("livesum", "descriptors", "Open file descriptors."),
    _Declared("livesum", "descriptor_limit", "File descriptors that may be open."),
    _Declared("sum", "limited",
        "Requests that got 429, also within batches, by the limit that they exceeded.",
        ("limit",)),
    _Declared("sum", "database_errors",
        "Errors of the database, also without a request, by their codes.", ("code",)),
    _Declared("sum", "oauth_requests",
        "Requests to the token endpoint, by endpoint and outcome: success, or the error.",
        ("endpoint", "outcome")),
    _Declared("sum", "issuer_fetches",
        "Fetches of the keys of outside issuers, by outcome: success or failed.",
        ("issuer", "outcome")),
    _Declared("livemax", "clients_age_seconds",
        "Seconds since clients and revoked tokens were last read, by the slowest worker."),
    _Declared("livemax", "notification_lag_seconds",
        "Seconds by which the notification of a change is late at most, or 0."),
    _Declared("sum", "replica_reads",
        "Reads that a replica may serve, by outcome: served, or why not.", ("outcome",)),
    _Declared("sum", "deliveries",
        "Attempts to deliver notifications, by outcome: delivered, failed or refused.",
        ("outcome",)),
    _Declared("sum", "delivery_lag_seconds",
        "Seconds from when notifications are due to their delivery.", bounds=_LAG_BUCKETS),
    _Declared("livemax", "later_catalog",
        "1 if the database has a later catalog than a worker, else 0."),
    _Declared("livemax", "certificate_end_timestamp_seconds",
        "When the certificate of the service ends; 0 without one."),
    _Declared("livemax", "credential_end_timestamp_seconds",
        "When the next client is without a valid secret and key; 0 for never."),
)
# fmt: on


class Distribution(Collector):
    """A histogram for one thread, which takes the times of many requests at once.

    `Histogram` would cost each request more than its line in the log.
    """

    def __init__(self, name: str, description: str, bounds: Sequence[float]) -> None:
        self._name = name
        self._description = description
        self._bounds = bounds
        self._numbers = [0] * (len(bounds) + 1)
        """The number of values in each bucket, without those of lower ones."""
        self._sum = 0.0

    def observe(self, values: Sequence[float]) -> None:
        """Count values in their buckets."""
        bounds, numbers = self._bounds, self._numbers
        self._sum += sum(values)
        for value in values:
            numbers[bisect_left(bounds, value)] += 1

    @override
    def collect(self) -> Iterable[Metric]:
        names = map(floatToGoString, (*self._bounds, float("inf")))
        buckets = list(zip(names, map(float, accumulate(self._numbers)), strict=True))
        yield HistogramMetricFamily(self._name, self._description, buckets, self._sum)


class ClientConnections:
    """The connections of clients that are open in this process."""

    def __init__(self) -> None:
        self.count = 0


CONNECTIONS = ClientConnections()


class Counts(NamedTuple):
    """The counts of all workers since the start.

    `refused` are requests with a status from 400 to 499, and `failed` those from 500 on. `buckets`
    has the number of requests that took up to each number of seconds.
    """

    requests: float
    refused: float
    failed: float
    buckets: Sequence[tuple[float, float]]
    waiting_writes: int
    notification_lag: float


class Metrics:
    """Counts requests by method and status, measures them, and counts reads by replicas.

    `link` is that of a worker, whose metrics are those of all workers.
    """

    def __init__(self, link: Link | None = None) -> None:
        self._link = link
        self._store: Store | None = None
        self._clients: ControlWatch | None = None
        self._registry = CollectorRegistry()
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, Gauge] = {}
        self._spreads: dict[str, Distribution] = {}
        self._modes: dict[str, Mode] = {}
        self.labels: dict[str, tuple[str, ...]] = {}
        """The labels of each metric, by its full name."""
        for declared in _METRICS:
            self._add(declared)

    def _add(self, declared: _Declared) -> None:
        mode, key, description, labels, bounds = declared
        name = f"{_PREFIX}{key}"
        self._modes[name], self.labels[name] = mode, labels
        if bounds:
            self._spreads[key] = Distribution(name, description, bounds)
            self._registry.register(self._spreads[key])
        elif mode == "sum":
            self._counters[key] = Counter(name, description, labels, registry=self._registry)
        else:
            self._gauges[key] = Gauge(name, description, labels, registry=self._registry)

    def watch(self, store: Store, clients: ControlWatch) -> None:
        """Include the condition and the load of a store, and the age of what is known."""
        self._store = store
        self._clients = clients
        self.sample()
        if self._link is not None:
            self._link.count = self._counted

    def count_replica_read(self, outcome: str) -> None:
        """Count the outcome of a read that a replica may serve."""
        self._counters["replica_reads"].labels(outcome).inc()

    def note_notification_lag(self, seconds: float) -> None:
        """Record by how much notifications are late."""
        self._gauges["notification_lag_seconds"].set(seconds)

    def count_oauth(self, endpoint: str, outcome: str) -> None:
        """Count a request to an endpoint of OAuth."""
        self._counters["oauth_requests"].labels(endpoint, outcome).inc()
        if outcome == SLOW_DOWN.error:
            self._counters["limited"].labels(ExceededLimit.GUESSES).inc()

    def count_issuer_fetch(self, issuer: str, outcome: str) -> None:
        """Count a fetch of the keys of the issuer with this URL."""
        self._counters["issuer_fetches"].labels(issuer, outcome).inc()

    def count_delivery(self, outcome: str, late: float | None) -> None:
        """Count an attempt to deliver notifications, late by some seconds if it has succeeded."""
        self._counters["deliveries"].labels(outcome).inc()
        if late is not None:
            self._spreads["delivery_lag_seconds"].observe((late,))

    def count(self, exchanges: Sequence[Exchange]) -> None:
        """Count exchanges that have ended, and record the condition of the store."""
        if self._store is not None:
            condition = self._store.condition
            self._gauges["last_change_ahead_until_timestamp_seconds"].set(condition.ahead_until)
            self._gauges["last_write_timestamp_seconds"].set(condition.stored_at)
            self._gauges["disk_full_timestamp_seconds"].set(condition.full_at)
        self._spreads["request_seconds"].observe([each.seconds for each in exchanges])
        numbers: dict[tuple[str, int], int] = {}
        for exchange in exchanges:
            # a client may send any method
            method = exchange.method if exchange.method in _METHODS else "other"
            key = (method, exchange.status)
            numbers[key] = numbers.get(key, 0) + 1
            for refused in exchange.refused:
                self._counters["refused"].labels(refused.code).inc()
                if refused.limit is not None:
                    self._counters["limited"].labels(refused.limit).inc()
        for (method, status), number in numbers.items():
            self._counters["requests"].labels(method, str(status)).inc(number)

    def sample(self) -> None:
        """Record what waits, runs and is open now."""
        self._gauges["client_connections"].set(CONNECTIONS.count)
        # one of them reads the folder
        self._gauges["descriptors"].set(sum(1 for _ in _DESCRIPTORS.iterdir()) - 1)
        self._gauges["descriptor_limit"].set(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        for code, number in taken_errors().items():
            self._counters["database_errors"].labels(code).inc(number)
        self._gauges["certificate_end_timestamp_seconds"].set(PRESENTED.ends_at)
        if self._clients is not None:
            self._gauges["clients_age_seconds"].set(self._clients.age)
            if self._clients.known is not None:
                self._gauges["credential_end_timestamp_seconds"].set(
                    self._clients.known.next_end(time())
                )
        if self._store is not None:
            self._gauges["later_catalog"].set(self._store.condition.has_later_catalog)
            load = self._store.load
            self._gauges["queued_writes"].set(load.waiting_writes)
            self._gauges["queued_scans"].set(load.reads.waiting)
            self._gauges["scans_running"].set(load.reads.running)
            self._gauges["scan_threads"].set(load.reads.permits)
            self._gauges["database_connections"].labels("used").set(load.used_connections)
            self._gauges["database_connections"].labels("idle").set(load.idle_connections)

    async def report(self) -> None:
        """Record the state of the process also while no request ends, and report it."""
        self.sample()
        if self._link is not None:
            self._link.report()

    def _counted(self) -> Counted:
        counted: Counted = {}
        for family in self._registry.collect():
            values = counted.setdefault(self._modes[family.name], {})
            for sample in family.samples:
                # the times of creation differ, and have no sum
                if not sample.name.endswith("_created"):
                    labels = chain.from_iterable(sample.labels.items())
                    values[family.name, sample.name, *labels] = sample.value
        return counted

    def exposition(self) -> bytes:
        """The metrics of this service, with those of all of its workers."""
        registry = self._of_all_workers()
        return generate_latest(registry) + generate_latest(_Derived(registry))

    def counts(self) -> Counts:
        """The counts of all workers of this service."""
        by_status: dict[str, float] = {}
        buckets: list[tuple[float, float]] = []
        waiting = lag = 0.0
        for family in self._of_all_workers().collect():
            for sample in family.samples:
                if sample.name == "comptoir_requests_total":
                    group = sample.labels["status"][:1]
                    by_status[group] = by_status.get(group, 0.0) + sample.value
                elif sample.name == "comptoir_request_seconds_bucket":
                    buckets.append((float(sample.labels["le"]), sample.value))
                elif sample.name == "comptoir_queued_writes":
                    waiting = sample.value
                elif sample.name == "comptoir_notification_lag_seconds":
                    lag = sample.value
        return Counts(
            sum(by_status.values()),
            by_status.get("4", 0.0),
            by_status.get("5", 0.0),
            buckets,
            int(waiting),
            lag,
        )

    def _of_all_workers(self) -> CollectorRegistry:
        if self._link is None:
            return self._registry
        total = decode(self._link.total) if self._link.total else self._counted()
        registry = CollectorRegistry()
        registry.register(_Total(self._registry, total))
        return registry


class _Total(Collector):
    """The metrics of a registry, with the values of all workers."""

    def __init__(self, declared: CollectorRegistry, total: Counted) -> None:
        self._declared = declared
        self._by_family: dict[str, list[tuple[Key, float]]] = {}
        for values in total.values():
            for key, value in values.items():
                self._by_family.setdefault(key[0], []).append((key, value))

    @override
    def collect(self) -> Iterable[Metric]:
        for declared in self._declared.collect():
            family = Metric(declared.name, declared.documentation, declared.type)
            for key, value in self._by_family.get(declared.name, ()):
                family.add_sample(key[1], dict(zip(key[2::2], key[3::2], strict=True)), value)
            if family.samples:
                yield family


class _Derived(Collector):
    """Metrics derived from times that all workers have recorded, when they are read."""

    def __init__(self, recorded: CollectorRegistry) -> None:
        self._recorded = recorded

    @override
    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "comptoir_last_change_ahead_seconds",
            "Seconds by which the last change of a company is ahead of the clock, or 0.",
            value=max(self._value("last_change_ahead_until") - time(), 0.0),
        )
        yield GaugeMetricFamily(
            "comptoir_disk_full",
            "1 if the disk of the database was full at the last write, else 0.",
            value=float(self._value("disk_full") > self._value("last_write")),
        )

    def _value(self, name: str) -> float:
        return self._recorded.get_sample_value(f"{_PREFIX}{name}_timestamp_seconds") or 0.0
