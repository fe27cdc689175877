"""A promoted standby without the last changes: writes are refused until a renewal."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from comptoir.errors.table import DATABASE_OLDER
from postgres.conftest import Served
from postgres.replication import Pair, ReplicatedService
from support.client import record, tag_of
from support.command import Command
from support.ports import LOOPBACK
from support.postgres import ROLE, Postgres, name_of
from support.replicas import READ_ONLY
from support.standby import Standby
from support.waiting import until

AGENTS = "shippingAgentsExt"


def either(pair: Pair, url: str) -> str:
    """The URL of a database on the primary of two servers."""
    ports = [server.port for server in (pair.primary, pair.standby)]
    hosts = ",".join(f"{LOOPBACK}:{port}" for port in ports)
    who = f"{ROLE}:{pair.primary.place.password}"
    return f"postgresql://{who}@{hosts}/{name_of(url)}?target_session_attrs=primary"


def refused_as_older(send: Callable[[], httpx.Response]) -> httpx.Response:
    """The response of the promoted server; until its promotion, no server accepts writes."""

    def look() -> httpx.Response | None:
        answer = send()
        assert answer.status_code == 503, answer.text
        return answer if answer.json()["error"]["code"] == DATABASE_OLDER.code else None

    return until(look, "a refusal by the server that has taken over")


def test_a_promoted_standby_that_lacks_changes_refuses_writes_until_a_renewal(
    served: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Postgres() as primary, Standby(primary) as standby:
        pair = Pair(primary, standby)
        url = either(pair, pair.new_database())
        company = served(url).new_company()
        path = f"{AGENTS}({record(company.post(AGENTS, {'code': 'A'}), 201)['id']})"
        standby.catch_up()
        standby.stop()
        lost = company.patch(path, {"name": "lost"}, "*")
        record(company.post(AGENTS, {"code": "B"}), 201)
        assert company.get(f"{AGENTS}/$count").text == "2"
        primary.kill()
        standby.start()
        standby.promote()

        refused_as_older(lambda: company.patch(path, {"name": "new"}, "*"))

        assert record(company.get(path))["name"] == ""
        assert company.get(f"{AGENTS}/$count").text == "1"
        assert "is at change 1, and change 3 was acknowledged" in caplog.text
        Command(tmp_path, url).done("company", "renew", "--all")
        assert company.patch(path, {"name": "new"}, tag_of(lost)).status_code == 412
        new = company.patch(path, {"name": "new"}, tag_of(company.get(path)))
        assert new.status_code == 200
        assert company.get(path, headers={"If-None-Match": tag_of(lost)}).status_code == 200


def test_replica_reads_notice_a_renewal(replicated: ReplicatedService, tmp_path: Path) -> None:
    before = replicated.company.get(replicated.path, headers=READ_ONLY)
    Command(tmp_path, replicated.service.settings.database).done("company", "renew", "--all")
    old = {**READ_ONLY, "If-None-Match": tag_of(before)}

    replicated.standby.catch_up()
    after = replicated.company.get(replicated.path, headers=old)

    assert record(after) == {**record(before), "@odata.etag": tag_of(after)}
    new = {**READ_ONLY, "If-None-Match": tag_of(after)}
    assert replicated.company.get(replicated.path, headers=new).status_code == 304
    assert replicated.outcomes() == {"replica": 3, "behind": 1}
