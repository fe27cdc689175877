"""`comptoir serve` as a process."""

import signal
import socket
from itertools import takewhile

import pytest

from comptoir.config import PROFILES
from support.command import Command
from support.quickstart import company_of, lines_of, pasted, ready_lines
from support.sockets import http_client
from support.together import together

QUICKSTART = ("serve", "--port", "0", "--quickstart")


def test_a_port_in_use_is_an_error_before_anything_starts(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = command.config(f"admin_port = {port}\n")
        error = command.run("serve", "--port", port, "--quickstart").error()
        admin = command.run("serve", "--port", "0", "--config", config).error()
    for each in (error, admin):
        assert f"port {port} of 127.0.0.1 is in use" in each
    assert "set admin_port to another one" in admin
    assert not command.database.exists()


@together(
    ("settings", "problem"),
    [
        ("token_algorithms = 'HS256'", "the token algorithm 'HS256' is not supported"),
        ("client_rate = '6000'", "comptoir.toml: '6000'. Write requests and seconds"),
        ("admin_port = {port}", "invalid setting admin_port"),
        ("admin_port = 65536", "invalid setting admin_port"),
        ("admin_port = -1", "invalid setting admin_port"),
        (
            "inspect = 'heads'\nconsole = 'off'",
            "inspect is heads, but the console, which shows requests, is not served.",
        ),
    ],
)
def test_settings_are_checked_before_the_port_opens(
    settings: str, problem: str, command: Command
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = f"port = {port}\n{settings.format(port=port)}\n"
        assert problem in command.refused(config)


def test_serve_creates_its_database_and_stops_after_an_interrupt(command: Command) -> None:
    with command.started("serve", "--port", "0") as process:
        assert next(lines_of(process)).startswith("Serving http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    assert command.done("company", "list").out == ""


def test_a_start_names_what_there_is(command: Command) -> None:
    """Also what is missing, and the addresses of the profile."""
    with command.started("serve", "--port", "0", "--profile", "business-central") as process:
        read = lines_of(process)
        lines = [*takewhile(lambda line: line != "Profile: business-central", read), next(read)]
    origin = lines[0].removeprefix("Serving ").removesuffix("/api")
    assert f"Documentation: {origin}/docs" in lines
    assert f"ODataV4 of BC: {origin}/BC/ODataV4" in lines
    assert f"Console: {origin}/console (comptoir console prints a login link)" in lines
    assert lines[-1] == "Company: none yet (comptoir company create NAME creates one)"


@pytest.mark.usefixtures("curl")
def test_the_commands_of_a_quickstart_work_when_pasted(migrated: Command) -> None:
    """Under each profile, with TLS, and again when nothing is left to change."""
    companies = set()
    for options in (*(("--profile", each) for each in sorted(PROFILES)), ("--https",)):
        with migrated.started(*QUICKSTART, *options) as process:
            lines = ready_lines(process)
            listed, changed = pasted(lines)
            assert [each["number"] for each in listed] == ["CT000034"]
            assert (changed["number"], changed["city"]) == ("CT000001", "Bremen")
            companies.add(company_of(lines))
            process.send_signal(signal.SIGTERM)
            process.wait()
    assert len(companies) == 1
    assert len(migrated.done("company", "list").out.splitlines()) == 1


def test_an_interrupted_quickstart_is_completed(migrated: Command) -> None:
    migrated.done("company", "create", "Comptoir Sample")
    with migrated.started(*QUICKSTART) as process:
        assert any("-X PATCH" in line for line in ready_lines(process))


def test_a_quickstart_is_short_names_the_documentation_and_keeps_requests(
    migrated: Command,
) -> None:
    with migrated.started(*QUICKSTART) as process, http_client() as client:
        lines = ready_lines(process)
        assert lines[0] == "Creating the company Comptoir Sample, on first use."
        assert len(lines) <= 12
        # the folder of a test and its program have long paths
        assert [line for line in lines if len(line) > 100 and "comptoir token)" not in line] == []
        (docs,) = [line.split()[-1] for line in lines if line.endswith("/docs")]
        assert client.get(docs).status_code == 200
        (link,) = [word for line in lines for word in line.split() if "#" in word]
        address, _, code = link.partition("#")
        own = {"Sec-Fetch-Site": "same-origin"}
        assert client.post(address, data={"code": code}, headers=own).status_code == 303
        page = client.get(address.replace("/login", "/requests"))
        assert "Recording: bodies" in page.text


def test_faults_where_others_use_the_service_need_the_config_file(command: Command) -> None:
    config = command.config('public_url = "https://erp.example.com/api"\n')
    with socket.create_server(("127.0.0.1", 0)) as taken:
        serving = ("serve", "--config", config, "--port", str(taken.getsockname()[1]))
        error = command.error(*serving, "--faults")
        assert "others can use https://erp.example.com/api" in error
        assert 'Write faults = "on" into the config file' in error
        with config.open("a", encoding="utf-8") as more:
            more.write('faults = "on"\n')
        assert "is in use" in command.error(*serving)
        own = (*serving, "--public-url", "http://localhost:1/api")
        assert "is in use" in command.error(*own, "--faults")


@pytest.mark.parametrize("public", [(), ("--public-url", "http://localhost/api")])
def test_faults_where_others_reach_the_host_need_the_config_file(
    public: tuple[str, ...], command: Command
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        serving = ("serve", "--faults", "--host", "0.0.0.0", "--port", port, *public)
        error = command.error(*serving)
    assert f"others can use http://0.0.0.0:{port}/api" in error
    assert 'Write faults = "on" into the config file' in error


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--fault-rules", "rules.json"), "--fault-rules 'rules.json'. Set faults to on"),
        (("--faults", "--workers", "2"), "--workers '2'. Use 1 with faults, whose rules"),
    ],
)
def test_settings_that_contradict_faults_are_errors(
    options: tuple[str, ...], problem: str, command: Command
) -> None:
    assert f"invalid {problem}" in command.error("serve", *options)
