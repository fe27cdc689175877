"""The dashboard and the alerts under `deploy`: of metrics that exist, for Prometheus itself."""

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest
import yaml  # type: ignore[import-untyped]
from monitoring import ALERT_ROWS, ALERTS, DASHBOARD, JOB, PAGE, PANELS, alerts, dashboard, families

from deploy.compose import FOLDER, ROOT
from support.clients import add_client
from support.ports import LOOPBACK, free_port
from support.programs import finished, needed
from support.server import Server
from support.waiting import until

TABLE = families()
QUERIES = [
    target["expr"]
    for panel in yaml.safe_load(DASHBOARD.read_text("utf-8"))["panels"]
    for target in panel.get("targets", ())
]

HOST = "one:8081"
STEADY = "1+0x120"
DAY = 86_400

_NAME = re.compile(r"\bcomptoir_\w+")


def series(name: str, **labels: str) -> str:
    given = {"job": JOB, "instance": HOST, **labels}
    return name + "{" + ",".join(f'{key}="{value}"' for key, value in given.items()) + "}"


def requests(status: str) -> str:
    return series("comptoir_requests_total", method="GET", status=status)


def bucket(bound: str) -> str:
    return series("comptoir_request_seconds_bucket", le=bound)


def reads(outcome: str) -> str:
    return series("comptoir_replica_reads_total", outcome=outcome)


def fetches(outcome: str) -> str:
    return series("comptoir_issuer_fetches_total", issuer="https://a.example", outcome=outcome)


CERTIFICATE = series("comptoir_certificate_end_timestamp_seconds")
CREDENTIAL = series("comptoir_credential_end_timestamp_seconds")

HEALTHY: Mapping[str, str] = {
    series("up"): STEADY,
    requests("200"): "0+600x120",
    requests("503"): "0+1x120",
    bucket("1"): "0+600x120",
    bucket("+Inf"): "0+600x120",
    series("comptoir_queued_writes"): "20+0x120",
    series("comptoir_disk_full"): "0+0x120",
    series("comptoir_clients_age_seconds"): "2+0x120",
    reads("replica"): "0+60x120",
    reads("behind"): "0+6x120",
    series("comptoir_notification_lag_seconds"): "3+0x120",
    fetches("success"): "0+1x120",
    fetches("failed"): "0+1x120",
    CERTIFICATE: f"{30 * DAY}+0x120",
    CREDENTIAL: f"{30 * DAY}+0x120",
    series("comptoir_descriptors"): "70+0x120",
    series("comptoir_descriptor_limit"): "100+0x120",
    series("comptoir_last_change_ahead_seconds"): "0+0x120",
    series("comptoir_later_catalog"): "0+0x120",
}
"""What a service that needs nobody has, each minute for two hours."""

ILL: Mapping[str, Mapping[str, str]] = {
    "ComptoirDown": {series("up"): "0+0x120"},
    "ComptoirErrors": {requests("503"): "0+30x120"},
    "ComptoirSlow": {bucket("1"): "0+590x120", bucket("2.5"): "0+600x120"},
    "ComptoirWritesQueue": {series("comptoir_queued_writes"): "501+0x120"},
    "ComptoirDiskFull": {series("comptoir_disk_full"): STEADY},
    "ComptoirDatabaseSilent": {series("comptoir_clients_age_seconds"): "31+0x120"},
    "ComptoirReplicaUnused": {reads("behind"): "0+90x120"},
    "ComptoirNotificationsLate": {series("comptoir_notification_lag_seconds"): "301+0x120"},
    "ComptoirIssuerKeys": {fetches("success"): "9+0x120"},
    "ComptoirCertificateEnds": {CERTIFICATE: f"{10 * DAY}+0x120"},
    "ComptoirCredentialEnds": {CREDENTIAL: f"{10 * DAY}+0x120"},
    "ComptoirDescriptors": {series("comptoir_descriptors"): "81+0x120"},
    "ComptoirClock": {series("comptoir_last_change_ahead_seconds"): "60+0x120"},
    "ComptoirLaterCatalog": {series("comptoir_later_catalog"): STEADY},
}
"""What a service has for each alert, as far as it differs."""

NONE: Mapping[str, str] = {CERTIFICATE: "0+0x120", CREDENTIAL: "0+0x120"}
"""A service without a certificate and clients."""


def families_in(expression: str) -> set[str]:
    return {name.removesuffix("_bucket") for name in _NAME.findall(expression)}


def test_the_files_are_as_generated_from_the_table() -> None:
    """After a change of a metric, run `python tools/monitoring.py`."""
    assert DASHBOARD.read_bytes() == dashboard()
    assert ALERTS.read_text("utf-8") == alerts()


def test_the_dashboard_shows_every_metric_and_no_other() -> None:
    placed = [name for row in PANELS.values() for names in row.values() for name in names]
    assert sorted(placed) == sorted(TABLE)
    assert {name for query in QUERIES for name in families_in(query)} == TABLE.keys()


def test_the_alerts_are_of_metrics_that_exist_and_in_the_how_to() -> None:
    page = (ROOT / PAGE).read_text("utf-8")
    for each in ALERT_ROWS:
        assert families_in(each.condition) <= TABLE.keys(), each.name
        assert f"| `{each.name}` |" in page
    assert "\n## Alerts\n" in page
    assert sorted(re.findall(r"^\| `(Comptoir\w+)` \|", page, re.MULTILINE)) == sorted(ILL)


def test_each_alert_fires_for_its_condition_alone(tmp_path: Path) -> None:
    """After an hour and a half, for the host whose name is that of the alert."""
    promtool = needed("promtool", "prometheus")
    hosts: Mapping[str, Mapping[str, str]] = {"healthy": {}, "bare": NONE, **ILL}
    given = [
        {"series": name.replace(HOST, host), "values": values}
        for host, own in hosts.items()
        for name, values in {**HEALTHY, **own}.items()
    ]
    firing = [{"labels": f'{{alertname="{name}", instance="{name}"}}', "value": 1} for name in ILL]
    expected = {
        "expr": 'count by (alertname, instance) (ALERTS{alertstate="firing"})',
        "eval_time": "90m",
        "exp_samples": firing,
    }
    test = {"interval": "1m", "input_series": given, "promql_expr_test": [expected]}
    path = tmp_path / "tests.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "tests": [test]}))
    finished([promtool, "test", "rules", str(path)], {})


@pytest.fixture
def prometheus(server: Server, tmp_path: Path) -> Iterator[httpx.Client]:
    """Prometheus with the settings of the compose file, which watches a service."""
    program = needed("prometheus", "prometheus")
    settings = yaml.safe_load((FOLDER / "prometheus" / "prometheus.yaml").read_text())
    settings["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    settings["rule_files"] = [str(ALERTS)]
    (job,) = settings["scrape_configs"]
    job["static_configs"] = [{"targets": ["{}:{}".format(*server.address)]}]
    path = tmp_path / "prometheus.yaml"
    path.write_text(yaml.safe_dump(settings))
    address = f"{LOOPBACK}:{free_port()}"
    options = {"config.file": path, "storage.tsdb.path": tmp_path / "data"}
    options["web.listen-address"] = Path(address)
    command = [program, *(f"--{name}={value}" for name, value in options.items())]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            with httpx.Client(base_url=f"http://{address}/api/v1/", trust_env=False) as client:
                yield client
        finally:
            process.terminate()


def results(prometheus: httpx.Client, query: str) -> list[dict[str, object]] | None:
    """The series of a query; None if there are none yet."""
    try:
        answer = prometheus.get("query", params={"query": query})
    except httpx.TransportError:
        return None
    if answer.status_code == 503:
        # it starts
        return None
    assert answer.status_code == 200, (query, answer.text)
    found: list[dict[str, object]] = answer.json()["data"]["result"]
    return found or None


def test_prometheus_collects_what_the_dashboard_shows(
    server: Server, prometheus: httpx.Client, tmp_path: Path
) -> None:
    add_client(server, tmp_path).token()
    server.client.get("companies")
    server.client.get("none")
    until(lambda: results(prometheus, f'up{{job="{JOB}"}} == 1'), "a service that is collected")
    until(lambda: results(prometheus, "comptoir_refused_total"), "an error that is counted")
    began = time.time()
    until(lambda: results(prometheus, f"timestamp(up) > {began}"), "what was counted before")
    exposed = {name for name in families_in(server.origin.get("metrics").text) if name in TABLE}
    empty = set()
    for query in QUERIES:
        asked = query.replace("$__rate_interval", "1m").replace("$host", ".*")
        if results(prometheus, asked) is None:
            empty |= families_in(query)
    rules = prometheus.get("rules").json()["data"]["groups"][0]["rules"]
    assert {rule["name"]: rule["health"] for rule in rules} == dict.fromkeys(ILL, "ok")
    never = {name for name in TABLE if name.endswith("timestamp_seconds")}
    uncounted = {
        name
        for name, each in TABLE.items()
        if each.labels and not re.search(rf"^{name}\{{", server.origin.get("metrics").text, re.M)
    }
    assert exposed == TABLE.keys()
    assert empty - never == uncounted
