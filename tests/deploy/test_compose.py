"""The compose file under `deploy`: the files that it names exist, and its parts fit together.

There is no Docker in the tests: the file is read, and its images are not built.
"""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml  # type: ignore[import-untyped]
from monitoring import ALERTS, DASHBOARD, JOB

from comptoir.config import SETTINGS, environment_name, load_settings
from deploy.compose import FOLDER, ROOT, Service, compose, example, variables
from support.dockerfile import Stage, stages

COMPOSE = compose()
HOSTS = {name: each for name, each in COMPOSE.services.items() if each.is_ours and not each.command}
NGINX = (FOLDER / "proxy" / "nginx.conf").read_text()
PGBOUNCER = (FOLDER / "pgbouncer" / "start.sh").read_text()


def image_of(name: str) -> Stage:
    """What runs as a service that is built here."""
    dockerfile = COMPOSE.services[name].dockerfile
    assert dockerfile is not None
    return stages(dockerfile.read_text())[-1]


def limit(name: str, text: str) -> int:
    """A number in a setting."""
    found = re.search(rf"{name} ?=? ?(\d+)", text)
    assert found is not None
    return int(found[1])


@pytest.fixture(params=COMPOSE.services)
def service(request: pytest.FixtureRequest) -> Service:
    return COMPOSE.services[request.param]


def test_every_variable_of_the_service_is_a_setting() -> None:
    ours = [each for each in COMPOSE.services.values() if each.is_ours]
    assert len(ours) == 3
    for each in ours:
        given = {name: value for name, value in each.environment.items() if "COMPTOIR" in name}
        assert given.keys() <= {environment_name(name) for name in SETTINGS}
        assert load_settings({}, given).database.startswith("postgresql://")


def test_the_example_names_every_secret_and_no_value() -> None:
    assert variables((FOLDER / "compose.yaml").read_text()) == example().keys()
    assert all(value.endswith("-password-here") for value in example().values())
    assert "/deploy/compose/.env" in (ROOT / ".gitignore").read_text().split()


def test_what_a_service_needs_is_there(service: Service) -> None:
    assert bool(service.image) or service.dockerfile is not None
    assert service.dockerfile is None or service.dockerfile.is_file()
    assert [path for path in service.copied if not path.exists()] == []
    for volume in service.volumes:
        source = volume.partition(":")[0]
        is_there = (FOLDER / source).is_file() if "/" in source else source in COMPOSE.volumes
        assert is_there, volume


def test_what_a_service_waits_for_comes_about(service: Service) -> None:
    for name, dependency in service.depends_on.items():
        other = COMPOSE.services[name]
        if dependency.condition == "service_healthy":
            assert other.healthcheck is not None
            assert other.healthcheck.test
        if dependency.condition == "service_completed_successfully":
            assert other.restart == "no"


def test_the_image_contains_the_files_of_the_context() -> None:
    host = HOSTS["one"]
    assert host.dockerfile is not None
    ignored = (host.context / ".dockerignore").read_text()
    kept = {line[1:] for line in ignored.splitlines() if line.startswith("!")}
    assert {path.relative_to(ROOT).parts[0] for path in host.copied} == kept


def test_the_hosts_write_to_their_volume_alone() -> None:
    for name, each in HOSTS.items():
        places = [volume.partition(":")[2] for volume in each.volumes]
        assert (each.read_only, each.tmpfs) == (True, ["/tmp"])
        assert places == [image_of(name).one("VOLUME").text]


def test_a_service_has_no_more_rights_than_it_needs(service: Service) -> None:
    assert service.read_only
    assert "/tmp" in service.tmpfs
    assert service.cap_drop == ["ALL"]
    assert service.security_opt == ["no-new-privileges:true"]
    # of the others, only the proxy starts as root, and its image says so
    assert bool(service.cap_add) == service.image.startswith("nginx:")
    assert all(port.startswith("127.0.0.1:") for port in service.ports)


def test_no_health_check_needs_a_shell(service: Service) -> None:
    if service.healthcheck is not None and not service.healthcheck.disable:
        assert service.healthcheck.test[0] == "CMD"


def test_grafana_has_no_password_that_others_know() -> None:
    environment = COMPOSE.services["grafana"].environment
    assert environment["GF_SECURITY_ADMIN_PASSWORD"] == "${GRAFANA_PASSWORD:?}"


def mounted(name: str, place: str) -> Path:
    """The file that a service has at a place."""
    (source,) = [
        each.partition(":")[0]
        for each in COMPOSE.services[name].volumes
        if each.split(":")[1] == place
    ]
    return (FOLDER / source).resolve()


def test_prometheus_collects_from_every_host() -> None:
    (place,) = re.findall(r"--config.file=(\S+)", " ".join(COMPOSE.services["prometheus"].command))
    scraped = yaml.safe_load(mounted("prometheus", place).read_text())
    (job,) = scraped["scrape_configs"]
    assert job["job_name"] == JOB
    admin_port = image_of("one").environment["COMPTOIR_ADMIN_PORT"]
    (found,) = job["static_configs"]
    assert found["targets"] == [f"{name}:{admin_port}" for name in HOSTS]
    assert [mounted("prometheus", each) for each in scraped["rule_files"]] == [ALERTS]


def test_grafana_has_the_dashboard_and_its_source() -> None:
    provisioned = "/etc/grafana/provisioning"
    (provider,) = yaml.safe_load(
        mounted("grafana", f"{provisioned}/dashboards/dashboards.yaml").read_text()
    )["providers"]
    assert mounted("grafana", f"{provider['options']['path']}/{DASHBOARD.name}") == DASHBOARD
    (source,) = yaml.safe_load(
        mounted("grafana", f"{provisioned}/datasources/datasource.yaml").read_text()
    )["datasources"]
    assert source["type"] == "prometheus"
    assert urlsplit(source["url"]).hostname in COMPOSE.services


def test_the_console_is_on_the_loopback_address_alone() -> None:
    """Under the number that its links have."""
    address = load_settings({}, image_of("one").environment).beside_api("")
    assert [f"http://{each.rpartition(':')[0]}" for each in COMPOSE.services["one"].ports] == [
        address
    ]


def test_the_hosts_are_behind_the_proxy_and_at_its_public_address() -> None:
    assert set(re.findall(r"server (\w+):8080", NGINX)) == HOSTS.keys()
    published, _, inner = COMPOSE.services["proxy"].ports[0].rpartition(":")
    assert f"listen {inner};" in NGINX
    for name, each in HOSTS.items():
        assert urlsplit(each.environment["COMPTOIR_PUBLIC_URL"]).netloc == published
        assert each.healthcheck is not None
        settings = load_settings({}, {**image_of(name).environment, **each.environment})
        assert settings.port == 8080
        assert settings.beside_api("/readyz") in each.healthcheck.test[-1]


def test_a_batch_passes_the_proxy() -> None:
    assert limit("client_max_body_size", NGINX) << 20 > load_settings({}, {}).batch_bytes


def test_there_are_connections_for_all_hosts() -> None:
    wanted = sum(int(each.environment["COMPTOIR_DATABASE_CONNECTIONS"]) for each in HOSTS.values())
    assert wanted <= limit("max_client_conn", PGBOUNCER)
    primary, standby = (
        limit("max_connections", " ".join(COMPOSE.services[name].command))
        for name in ("primary", "standby")
    )
    assert limit("default_pool_size", PGBOUNCER) < primary
    assert wanted < standby
    # it does not start without it
    assert standby >= primary


def test_the_databases_of_the_hosts_are_services() -> None:
    for each in HOSTS.values():
        places = {
            urlsplit(value).hostname
            for name, value in each.environment.items()
            if name.endswith("DATABASE")
        }
        assert places == {"pgbouncer", "standby"}
        assert places < COMPOSE.services.keys()


def test_prepared_statements_do_not_meet_pgbouncer() -> None:
    assert "pool_mode = transaction" in PGBOUNCER
    for each in COMPOSE.services.values():
        if ":6432/" in each.environment.get("COMPTOIR_DATABASE", ""):
            assert each.environment["COMPTOIR_STATEMENT_CACHE"] == "0"
