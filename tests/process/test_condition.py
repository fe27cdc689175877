"""What an operator learns of a service that works: by the log, `/readyz` and `/metrics`."""

import pytest

from process.conftest import StartServer
from support.client import record
from support.databases import run_sql
from support.office import Company
from support.patience import until
from support.server import Server

FAR = "2099-01-01T00:00:00.000Z"
PAST = "2020-01-01T00:00:00.000Z"
AHEAD = "comptoir_last_change_ahead_seconds"


def metric(server: Server, name: str) -> float:
    lines = server.origin.get("metrics").text.splitlines()
    (value,) = [line.removeprefix(f"{name} ") for line in lines if line.startswith(f"{name} ")]
    return float(value)


def readiness(server: Server) -> str:
    answer = server.origin.get("readyz")
    assert answer.status_code == 200
    return answer.text


def set_last_time(server: Server, company: Company, at: str) -> None:
    """Give a company's last change the time that a clock which was wrong gave it."""
    statement = "UPDATE companies SET changed_at = :at WHERE company_id = :id"
    run_sql(server.settings.database, statement, at=at, id=company.id)


def write(company: Company, code: str) -> None:
    record(company.post("shippingAgentsExt", {"code": code}), 201)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_last_change_ahead_of_the_clock_is_shown(workers: int, start_server: StartServer) -> None:
    """A clock that was ahead and came back leaves it: times never fall."""
    server = start_server(workers)
    company = server.new_company()
    write(company, "A")
    assert metric(server, AHEAD) == 0
    assert readiness(server) == "ready\n"

    set_last_time(server, company, FAR)
    write(company, "B")
    write(company, "C")

    assert [each.at for each in company.changes()][1:] == [FAR, FAR]
    # a write is counted when its answer has been sent, which the client may notice before
    until(lambda: metric(server, AHEAD) > 1e9 or None, "a metric that shows it")
    if workers == 1:
        assert "ahead of the clock" in readiness(server)
        lines = [each for each in server.log.read_text().splitlines() if "ahead of the" in each]
        assert len(lines) == 1
        assert company.id in lines[0]
        assert '"level":"warning"' in lines[0]

        set_last_time(server, company, PAST)
        write(company, "D")
        assert readiness(server) == "ready\n"
        until(lambda: metric(server, AHEAD) == 0 or None, "a metric that shows it")
