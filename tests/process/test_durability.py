"""What was acknowledged is there, whatever becomes of the process."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from process.conftest import StartServer
from support.companies import Company
from support.worker_connections import WorkerConnections
from support.writers import DELETED, Work, Writers


@pytest.mark.parametrize(("workers", "kills"), [(1, (1, 100)), (2, (100,))], ids=["one", "two"])
def test_a_kill_loses_no_acknowledged_write(
    workers: int, kills: tuple[int, ...], start_server: StartServer
) -> None:
    """Killed while writers are at work, after some number of acknowledged writes; again and again.

    Every acknowledged write is there; a write that was not answered is there whole or not at all;
    the change log has neither gaps nor doubles, and agrees with the records. Writing goes on where
    it stopped.
    """
    server = start_server(workers)
    company = server.new_company()
    done: list[Work] = []
    for acknowledged in kills:
        with WorkerConnections(server, 3) if workers > 1 else nullcontext(server) as carrier:
            writers = Writers(replace(company, carrier=carrier), 6, f"until {acknowledged}: ")
            writers.tally.wait_for(acknowledged)
            server.kill()
            done += writers.join()

        server.start()

        company = server.again(company)
        for work in done:
            check_work(company, work)
        check_log(company)


def check_work(company: Company, work: Work) -> None:
    """The writer's record is as its last write left it, or as the one before the kill did."""
    found = company.listed("itemReferencesExt", {"$filter": f"itemNo eq '{work.code}'"})
    if work.acknowledged == -2:
        assert len(found) <= 1
        return
    if work.attempted == DELETED and (work.acknowledged == DELETED or not found):
        assert found == []
        return
    [kept] = found
    assert kept["description"] == kept["description2"]
    assert work.acknowledged <= int(kept["description"]) <= work.attempted


def check_log(company: Company) -> None:
    """Numbers without gaps or doubles; each record has the version of its last change."""
    changes = company.changes()
    assert [change.number for change in changes] == list(range(1, len(changes) + 1))
    last: dict[str, int] = {}
    verbs: dict[str, list[str]] = {}
    for change in changes:
        last[change.record] = change.number
        verbs.setdefault(change.record, []).append(change.verb)
    kept = {str(each["id"]): each for each in company.listed("itemReferencesExt")}
    assert company.get("itemReferencesExt/$count").text == f"{len(kept)}"
    gone = {key for key in verbs if verbs[key][-1] == "delete"}
    assert kept.keys() == last.keys() - gone
    for key in gone:
        assert verbs[key] == ["create"] + ["update"] * DELETED + ["delete"]
    for key, each in kept.items():
        assert each["@odata.etag"] == f'W/"{company.stored.incarnation}.{last[key]}"'
        # a create, and an update for each value from 0 on
        assert verbs[key] == ["create"] + ["update"] * (int(each["description"]) + 1)
