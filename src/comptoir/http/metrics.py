"""Counts and times for Prometheus (text exposition format)."""

import resource
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from time import time
from typing import NamedTuple

from comptoir.errors.refusal import ExceededLimit
from comptoir.errors.table import SLOW_DOWN
from comptoir.http.exchange import Exchange
from comptoir.http.link import Counted, Key, Mode, SupervisorLink, decode
from comptoir.http.tls import Presented
from comptoir.request.path import READ_METHODS, WRITE_METHODS
from comptoir.store.control import ControlWatch
from comptoir.store.refusals import taken_errors
from comptoir.store.store import Store

_PREFIX = "comptoir_"

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_DESCRIPTORS = Path("/dev/fd")
"""The folder of the descriptors that a process has open, on Linux and macOS."""

_METHODS = READ_METHODS | WRITE_METHODS | {"OPTIONS"}
_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_LAG_BOUNDS = (0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400)


class DeclaredMetric(NamedTuple):
    """A metric: how those of all workers are combined, and its labels or its buckets.

    It is a counter if it is a sum, without buckets, and else a gauge: `max` for a time of which
    the latest counts, `livemax` and `livesum` for a number of the running workers.
    """

    mode: Mode
    name: str
    description: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()

    @property
    def full_name(self) -> str:
        """The name by which Prometheus has it."""
        return f"{_PREFIX}{self.name}{'_total' if self.kind == 'counter' else ''}"

    @property
    def kind(self) -> str:
        """Its type in the text format."""
        return "histogram" if self.bounds else "counter" if self.mode == "sum" else "gauge"

    @property
    def buckets(self) -> Sequence[str]:
        """The upper bounds of a histogram, the last one without a limit."""
        return (*(repr(float(each)) for each in self.bounds), "+Inf")


# fmt: off
METRICS = (
    DeclaredMetric("sum", "requests", "Requests, by method and status.", ("method", "status")),
    DeclaredMetric("sum", "request_seconds",
        "Seconds from the arrival of a request to the end of its response.", bounds=_BOUNDS),
    DeclaredMetric("max", "last_change_ahead_until_timestamp_seconds",
        "The latest time of a change that is ahead of the clock; 0 for none."),
    DeclaredMetric("max", "last_write_timestamp_seconds",
        "When a change was last stored; 0 for never."),
    DeclaredMetric("max", "disk_full_timestamp_seconds",
        "When a write last failed because the disk of the database was full; 0 for never."),
    DeclaredMetric("sum", "refused",
        "Requests that got an error, also within batches, by its code.", ("code",)),
    DeclaredMetric("livesum", "queued_writes", "Writes that wait or run."),
    DeclaredMetric("livesum", "queued_scans", "Long reads that wait."),
    DeclaredMetric("livesum", "scans_running", "Long reads that run."),
    DeclaredMetric("livesum", "scan_threads", "Long reads that may run at once."),
    DeclaredMetric("livesum", "database_connections", "Connections to PostgreSQL, by state.",
        ("state",)),
    DeclaredMetric("livesum", "client_connections", "Open connections of clients."),
    DeclaredMetric("livesum", "descriptors", "Open file descriptors."),
    DeclaredMetric("livesum", "descriptor_limit", "File descriptors that may be open."),
    DeclaredMetric("sum", "limited",
        "Requests that got 429, also within batches, by the limit that they exceeded.",
        ("limit",)),
    DeclaredMetric("sum", "database_errors",
        "Errors of the database, also without a request, by their codes.", ("code",)),
    DeclaredMetric("sum", "oauth_requests",
        "Requests to the token endpoint, by endpoint and outcome: success, or the error.",
        ("endpoint", "outcome")),
    DeclaredMetric("sum", "issuer_fetches",
        "Fetches of the keys of outside issuers, by outcome: success or failed.",
        ("issuer", "outcome")),
    DeclaredMetric("livemax", "clients_age_seconds",
        "Seconds since clients and revoked tokens were last read, by the slowest worker."),
    DeclaredMetric("livemax", "notification_lag_seconds",
        "Seconds by which the notification of a change is late at most, or 0."),
    DeclaredMetric("sum", "replica_reads",
        "Reads that a replica may serve, by outcome: served, or why not.", ("outcome",)),
    DeclaredMetric("sum", "deliveries",
        "Attempts to deliver notifications, by outcome: delivered, failed or refused.",
        ("outcome",)),
    DeclaredMetric("sum", "delivery_lag_seconds",
        "Seconds from when notifications are due to their delivery.", bounds=_LAG_BOUNDS),
    DeclaredMetric("livemax", "later_catalog",
        "1 if the database has a later catalog than a worker, else 0."),
    DeclaredMetric("livemax", "certificate_end_timestamp_seconds",
        "When the certificate of the service ends; 0 without one."),
    DeclaredMetric("livemax", "credential_end_timestamp_seconds",
        "When the next client is without a valid secret and key; 0 for never."),
    # derived from the times above when they are read
    DeclaredMetric("max", "last_change_ahead_seconds",
        "Seconds by which the last change of a company is ahead of the clock, or 0."),
    DeclaredMetric("max", "disk_full",
        "1 if the disk of the database was full at the last write, else 0."),
)
# fmt: on


_BY_NAME = {each.name: each for each in METRICS}
_BUCKETS_OF = {each.name: each.buckets for each in METRICS}

_SUM = "sum"
"""The key of the sum of a histogram, among those of its buckets."""


class ClientConnections:
    """The number of connections of clients that are open in this process."""

    count = 0


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

    def __init__(self, link: SupervisorLink | None = None) -> None:
        self._link = link
        self._store: Store | None = None
        self._clients: ControlWatch | None = None
        self._own: Counted = {each.mode: {} for each in METRICS}
        """The values of this process, by the names of metrics and the values of their labels.

        A histogram has the number of values in each bucket, without those of lower ones.
        """
        for each in METRICS:
            if not each.labels and not each.bounds:
                self._own[each.mode][each.name,] = 0.0

    def increase(self, name: str, *labels: str, number: float = 1.0) -> None:
        """Add to a counter, or to a part of a histogram."""
        values, key = self._own["sum"], (name, *labels)
        values[key] = values.get(key, 0.0) + number

    def _observe(self, name: str, found: Sequence[float]) -> None:
        """Count values in the buckets of a histogram."""
        bounds = _BY_NAME[name].bounds
        numbers = [0] * (len(bounds) + 1)
        for each in found:
            numbers[bisect_left(bounds, each)] += 1
        for part, number in zip(_BUCKETS_OF[name], numbers, strict=True):
            if number:
                self.increase(name, part, number=number)
        self.increase(name, _SUM, number=sum(found))

    def set(self, name: str, value: float, *labels: str) -> None:
        """Set a gauge."""
        self._own[_BY_NAME[name].mode][name, *labels] = float(value)

    def watch(self, store: Store, clients: ControlWatch) -> None:
        """Include the condition and the load of a store, and the age of what is known."""
        self._store = store
        self._clients = clients
        self.sample()
        if self._link is not None:
            self._link.count = lambda: self._own

    def count_oauth(self, endpoint: str, outcome: str) -> None:
        """Count a request to an endpoint of OAuth."""
        self.increase("oauth_requests", endpoint, outcome)
        if outcome == SLOW_DOWN.error:
            self.increase("limited", ExceededLimit.GUESSES)

    def count_delivery(self, outcome: str, late: float | None) -> None:
        """Count an attempt to deliver notifications, late by some seconds if it has succeeded."""
        self.increase("deliveries", outcome)
        if late is not None:
            self._observe("delivery_lag_seconds", (late,))

    def count(self, exchanges: Sequence[Exchange]) -> None:
        """Count exchanges that have ended, and record the condition of the store."""
        if self._store is not None:
            condition = self._store.condition
            self.set("last_change_ahead_until_timestamp_seconds", condition.ahead_until)
            self.set("last_write_timestamp_seconds", condition.stored_at)
            self.set("disk_full_timestamp_seconds", condition.full_at)
        self._observe("request_seconds", [each.seconds for each in exchanges])
        numbers: dict[tuple[str, int], int] = {}
        for exchange in exchanges:
            # a client may send any method
            method = exchange.method if exchange.method in _METHODS else "other"
            key = (method, exchange.status)
            numbers[key] = numbers.get(key, 0) + 1
            for refused in exchange.refused:
                self.increase("refused", refused.code)
                if refused.limit is not None:
                    self.increase("limited", refused.limit)
        for (method, status), number in numbers.items():
            self.increase("requests", method, str(status), number=number)

    def sample(self) -> None:
        """Record what waits, runs and is open now."""
        self.set("client_connections", ClientConnections.count)
        # one of them reads the folder
        self.set("descriptors", sum(1 for _ in _DESCRIPTORS.iterdir()) - 1)
        self.set("descriptor_limit", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        for code, number in taken_errors().items():
            self.increase("database_errors", code, number=number)
        self.set("certificate_end_timestamp_seconds", Presented.ends_at)
        if self._clients is not None:
            self.set("clients_age_seconds", self._clients.age)
            if self._clients.known is not None:
                self.set("credential_end_timestamp_seconds", self._clients.known.next_end(time()))
        if self._store is not None:
            self.set("later_catalog", self._store.condition.has_later_catalog)
            load = self._store.load
            self.set("queued_writes", load.waiting_writes)
            self.set("queued_scans", load.reads.waiting)
            self.set("scans_running", load.reads.running)
            self.set("scan_threads", load.reads.permits)
            self.set("database_connections", load.used_connections, "used")
            self.set("database_connections", load.idle_connections, "idle")

    async def report(self) -> None:
        """Record the state of the process also while no request ends, and report it."""
        self.sample()
        if self._link is not None:
            self._link.report()

    def exposition(self) -> bytes:
        """The metrics of this service, with those of all of its workers."""
        values = self._of_all_workers()
        ahead, written, full = (
            values.get((f"{each}_timestamp_seconds",), 0.0)
            for each in ("last_change_ahead_until", "last_write", "disk_full")
        )
        values["last_change_ahead_seconds",] = max(ahead - time(), 0.0)
        values["disk_full",] = float(full > written)
        found: dict[str, dict[Key, float]] = {}
        for (name, *labels), value in values.items():
            found.setdefault(name, {})[tuple(labels)] = value
        lines = [line for each in METRICS for line in _lines(each, found.get(each.name, {}))]
        return "".join(lines).encode()

    def counts(self) -> Counts:
        """The counts of all workers of this service."""
        values = self._of_all_workers()
        by_status: dict[str, float] = {}
        for (name, *labels), number in values.items():
            if name == "requests":
                group = labels[1][:1]
                by_status[group] = by_status.get(group, 0.0) + number
        parts = _BUCKETS_OF["request_seconds"]
        numbers = accumulate(values.get(("request_seconds", each), 0.0) for each in parts)
        return Counts(
            sum(by_status.values()),
            by_status.get("4", 0.0),
            by_status.get("5", 0.0),
            list(zip(map(float, parts), numbers, strict=True)),
            int(values.get(("queued_writes",), 0)),
            values.get(("notification_lag_seconds",), 0.0),
        )

    def _of_all_workers(self) -> dict[Key, float]:
        link = self._link
        total = decode(link.total) if link is not None and link.total else self._own
        return {key: value for values in total.values() for key, value in values.items()}


def _lines(declared: DeclaredMetric, values: Mapping[Key, float]) -> Iterator[str]:
    """The lines of a metric."""
    name = declared.full_name
    yield f"# HELP {name} {declared.description}\n# TYPE {name} {declared.kind}\n"
    if declared.bounds:
        parts = _BUCKETS_OF[declared.name]
        numbers = list(accumulate(values.get((each,), 0.0) for each in parts))
        for part, number in zip(parts, numbers, strict=True):
            yield f'{name}_bucket{{le="{part}"}} {number}\n'
        yield f"{name}_count {numbers[-1]}\n{name}_sum {values.get((_SUM,), 0.0)}\n"
        return
    for labels, value in values.items():
        pairs = [
            f'{each}="{_escaped(text)}"' for each, text in zip(declared.labels, labels, strict=True)
        ]
        yield f"{name}{{{','.join(pairs)}}} {value}\n" if pairs else f"{name} {value}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
