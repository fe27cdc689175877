"""Write the Grafana dashboard and the alerts of Prometheus in `deploy` from the metrics' own table.

Usage: python tools/monitoring.py
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml  # type: ignore[import-untyped]

from comptoir.config import Settings
from comptoir.http.metrics import METRICS

DEPLOY = Path(__file__).parents[1] / "deploy"
DASHBOARD = DEPLOY / "grafana" / "comptoir.json"
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"

JOB = "comptoir"
"""The job by which Prometheus scrapes the service."""

PAGE = "docs/how-to/watch.md"

_SOURCE = {"type": "prometheus", "uid": "${source}"}
_HOSTS = f'job="{JOB}", instance=~"$host"'
_SECONDS = re.compile(r"(_timestamp)?_seconds")
_WIDTH, _HEIGHT = 8, 8


class Family(NamedTuple):
    """A metric of the table. `kind` is its type, and `name` that of its samples, or their stem."""

    name: str
    kind: str
    help: str
    labels: Sequence[str]


class Alert(NamedTuple):
    """An alert: its condition, how long that lasts, and what the operator does."""

    name: str
    condition: str
    lasts: str
    severity: str
    summary: str
    remedy: str


PANELS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "Requests": {
        "Requests": ("comptoir_requests_total",),
        "Duration": ("comptoir_request_seconds",),
        "Errors, by code": ("comptoir_refused_total",),
        "Refused by a limit": ("comptoir_limited_total",),
        "Token endpoint": ("comptoir_oauth_requests_total",),
    },
    "Load": {
        "Writes in the queue": ("comptoir_queued_writes",),
        "Long reads": ("comptoir_queued_scans", "comptoir_scans_running", "comptoir_scan_threads"),
        "Connections of clients": ("comptoir_client_connections",),
        "File descriptors": ("comptoir_descriptors", "comptoir_descriptor_limit"),
    },
    "Database": {
        "Connections to PostgreSQL": ("comptoir_database_connections",),
        "Errors of the database": ("comptoir_database_errors_total",),
        "Reads by replicas": ("comptoir_replica_reads_total",),
        "Age of what is known of clients": ("comptoir_clients_age_seconds",),
        "Disk full, later catalog": ("comptoir_disk_full", "comptoir_later_catalog"),
        "Last write, last write that found the disk full": (
            "comptoir_last_write_timestamp_seconds",
            "comptoir_disk_full_timestamp_seconds",
        ),
        "Change ahead of the clock": ("comptoir_last_change_ahead_seconds",),
        "Change ahead of the clock until": ("comptoir_last_change_ahead_until_timestamp_seconds",),
    },
    "Notifications, issuers and ends": {
        "Lag of notifications": ("comptoir_notification_lag_seconds",),
        "Lag of deliveries": ("comptoir_delivery_lag_seconds",),
        "Deliveries": ("comptoir_deliveries_total",),
        "Fetches of issuers' keys": ("comptoir_issuer_fetches_total",),
        "Certificate, and next secret or key of a client, end": (
            "comptoir_certificate_end_timestamp_seconds",
            "comptoir_credential_end_timestamp_seconds",
        ),
    },
}
"""The panels of each row of the dashboard, with their metrics."""

_QUEUE = Settings().queued_writes // 2
_DAYS = 14

ALERT_ROWS = (
    Alert("ComptoirDown", f'up{{job="{JOB}"}} == 0', "2m", "critical",
        "{{ $labels.instance }} does not answer Prometheus.",
        "Look at the log of the service and start it again. If it runs, look at the network."),
    Alert("ComptoirErrors",
        'sum by (instance) (rate(comptoir_requests_total{status=~"5.."}[5m])) '
        "/ sum by (instance) (rate(comptoir_requests_total[5m])) > 0.01", "5m", "critical",
        "{{ $value | humanizePercentage }} of the requests to {{ $labels.instance }} fail.",
        "Find the requests with a status from 500 on in the log, and look at /readyz."),
    Alert("ComptoirSlow",
        "histogram_quantile(0.99, sum by (instance, le) "
        "(rate(comptoir_request_seconds_bucket[5m]))) > 1", "10m", "warning",
        "One request in a hundred to {{ $labels.instance }} takes {{ $value | humanizeDuration }} "
        "or more.",
        "Find the slow requests in the log, and see whether long reads or writes wait."),
    Alert("ComptoirWritesQueue", f"comptoir_queued_writes > {_QUEUE}", "5m", "warning",
        "{{ $value }} writes wait on {{ $labels.instance }}.",
        "Spread the load of writes, or find what locks the database. "
        "Above queued_writes for each worker, writes get 429."),
    Alert("ComptoirDiskFull", "comptoir_disk_full == 1", "0m", "critical",
        "The disk of the database of {{ $labels.instance }} is full, and writes get 503.",
        "Free some disk space. Reads continue."),
    Alert("ComptoirDatabaseSilent", "comptoir_clients_age_seconds > 30", "0m", "critical",
        "{{ $labels.instance }} has not read clients for {{ $value | humanizeDuration }}.",
        "Find why the database does not answer. After 60 seconds, tokens of clients get 503."),
    Alert("ComptoirReplicaUnused",
        'sum by (instance) (rate(comptoir_replica_reads_total{outcome!="replica"}[5m])) '
        "/ sum by (instance) (rate(comptoir_replica_reads_total[5m])) > 0.5", "10m", "warning",
        "The replica of {{ $labels.instance }} does not serve {{ $value | humanizePercentage }} of "
        "its reads.",
        "See by outcome whether it lags or fails, and look at the replication of PostgreSQL. "
        "The primary serves these reads."),
    Alert("ComptoirNotificationsLate", "comptoir_notification_lag_seconds > 300", "5m", "warning",
        "Notifications of {{ $labels.instance }} are {{ $value | humanizeDuration }} late.",
        "See whether the receivers of subscriptions respond."),
    Alert("ComptoirIssuerKeys",
        'sum by (instance, issuer) (increase(comptoir_issuer_fetches_total{outcome="failed"}[1h])) '
        '> 0 unless sum by (instance, issuer) (increase('
        'comptoir_issuer_fetches_total{outcome="success"}[1h])) > 0', "15m", "warning",
        "The keys of {{ $labels.issuer }} cannot be fetched by {{ $labels.instance }}.",
        "The log says what failed. The last keys are believed for issuer_stale_seconds."),
    Alert("ComptoirCertificateEnds",
        f"0 < comptoir_certificate_end_timestamp_seconds < time() + {_DAYS} * 86400", "1h",
        "warning", "The certificate of {{ $labels.instance }} ends within two weeks.",
        "Renew the files of tls_certificate and tls_key. No restart is needed."),
    Alert("ComptoirCredentialEnds",
        f"0 < comptoir_credential_end_timestamp_seconds < time() + {_DAYS} * 86400", "1h",
        "warning", "A client is without a valid secret or key within two weeks.",
        "The overview of the console and comptoir client list name it: add a secret or key."),
    Alert("ComptoirDescriptors", "comptoir_descriptors > 0.8 * comptoir_descriptor_limit", "5m",
        "warning", "{{ $labels.instance }} has {{ $value }} open file descriptors.",
        "Raise the limit on descriptors. Above it, connections are not accepted."),
    Alert("ComptoirClock", "comptoir_last_change_ahead_seconds > 0", "5m", "warning",
        "The last change of a company is {{ $value | humanizeDuration }} ahead of the clock of "
        "{{ $labels.instance }}.",
        "Compare the clocks of the hosts and correct them. The log names the company."),
    Alert("ComptoirLaterCatalog", "comptoir_later_catalog == 1", "15m", "warning",
        "The database has a later catalog than {{ $labels.instance }}.",
        "Restart the service, which then has the later catalog."),
)  # fmt: skip
"""The alerts, each of which an operator can act on."""


def families() -> Mapping[str, Family]:
    """The metrics of a service, by name."""
    return {
        each.full_name: Family(each.full_name, each.kind, each.description, each.labels)
        for each in METRICS
    }


def alerts() -> str:
    """The rules of Prometheus."""
    rules = [
        {
            "alert": each.name,
            "expr": each.condition,
            "for": each.lasts,
            "labels": {"severity": each.severity},
            "annotations": {
                "summary": each.summary,
                "remedy": each.remedy,
                "how_to": f"{PAGE}#alerts",
            },
        }
        for each in ALERT_ROWS
    ]
    document = {"groups": [{"name": JOB, "rules": rules}]}
    text: str = yaml.safe_dump(document, sort_keys=False, width=120)
    return f"# Generated by tools/monitoring.py. {PAGE} explains how to use it.\n{text}"


def dashboard() -> bytes:
    """The dashboard of Grafana."""
    source = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    host = {
        "name": "host",
        "label": "Host",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": f'label_values(up{{job="{JOB}"}}, instance)', "refId": "host"},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }
    document = {
        "uid": JOB,
        "title": "Comptoir",
        "description": f"Generated by tools/monitoring.py. {PAGE} explains it.",
        "schemaVersion": 39,
        "editable": False,
        "time": {"from": "now-3h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": [source, host]},
        "panels": list(_panels(families())),
    }
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _panels(table: Mapping[str, Family]) -> Iterator[Mapping[str, object]]:
    number = top = 0
    for row, panels in PANELS.items():
        number += 1
        place = {"x": 0, "y": top, "w": 24, "h": 1}
        yield {"id": number, "type": "row", "title": row, "gridPos": place, "panels": []}
        top += 1
        for index, (title, names) in enumerate(panels.items()):
            line, column = divmod(index, 24 // _WIDTH)
            place = {"x": column * _WIDTH, "y": top + line * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
            shown = [table[name] for name in names]
            number += 1
            yield {"id": number, "title": title, "gridPos": place, **_panel(shown)}
        top += -(-len(panels) // (24 // _WIDTH)) * _HEIGHT


def _panel(shown: Sequence[Family]) -> Mapping[str, object]:
    """What shows some metrics, which have the same unit."""
    (unit,) = {_unit(each) for each in shown}
    queries = [query for each in shown for query in _queries(each, is_alone=len(shown) == 1)]
    is_time = unit == "dateTimeFromNow"
    return {
        "type": "stat" if is_time else "timeseries",
        "description": "\n\n".join(each.help for each in shown),
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + i), "expr": expr, "legendFormat": legend, "instant": is_time}
            for i, (expr, legend) in enumerate(queries)
        ],
    }


def _unit(family: Family) -> str:
    seconds = _SECONDS.search(family.name)
    if family.kind == "counter":
        return "ops"
    if seconds is None:
        return "short"
    return "dateTimeFromNow" if seconds[1] else "s"


def _queries(family: Family, *, is_alone: bool) -> Iterator[tuple[str, str]]:
    """The expressions that show a metric, each with its legend."""
    if family.kind == "histogram":
        rates = f"sum by (le) (rate({family.name}_bucket{{{_HOSTS}}}[$__rate_interval]))"
        for percent in (50, 95, 99):
            yield f"histogram_quantile({percent / 100}, {rates})", f"p{percent}"
        return
    legend = " ".join(f"{{{{{label}}}}}" for label in family.labels)
    if family.kind == "counter":
        rate = f"rate({family.name}{{{_HOSTS}}}[$__rate_interval])"
        yield f"sum by ({', '.join(family.labels)}) ({rate})", legend
        return
    short = "" if is_alone else family.name.removeprefix("comptoir_").replace("_", " ")
    expression = f"{family.name}{{{_HOSTS}}}"
    if _unit(family) == "dateTimeFromNow":
        # Grafana counts milliseconds, and 0 is none
        expression = f"({expression} > 0) * 1000"
        short = short.removesuffix(" timestamp seconds")
    yield expression, " ".join(filter(None, ["{{instance}}", short, legend]))


if __name__ == "__main__":
    for path, content in ((DASHBOARD, dashboard()), (ALERTS, alerts().encode())):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
