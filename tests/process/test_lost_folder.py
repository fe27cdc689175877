"""A service whose folder is lost: what was acknowledged before the backup is there again."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from comptoir.features.backup import databases
from process.conftest import StartServer
from process.test_durability import check_log, check_work
from support.client import record, tag_of
from support.command import Command, NewPlace
from support.server import Server
from support.writers import Writers

AGENTS = "shippingAgentsExt"
TRACKED = {"Prefer": "odata.track-changes"}


def test_a_lost_folder_is_restored_to_the_backup(
    start_server: StartServer, new_place: NewPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Backed up while four write, killed, and restored in another folder, on another port.

    Each write that was acknowledged before the backup is there, the change log has no gaps, and
    clients with earlier entity tags and delta links are told.
    """
    # so many steps that others write between them
    monkeypatch.setattr(databases, "PAGES", 1)
    server = start_server()
    company, other = server.new_company(), server.new_company()
    made = other.post(AGENTS, {"code": "A"})
    path, tag = f"{AGENTS}({record(made, 201)['id']})", tag_of(made)
    tracked = msgspec.json.decode(other.get(AGENTS, headers=TRACKED).content)
    link = str(tracked["@odata.deltaLink"]).rpartition("/")[2]
    used, backups = Command(tmp_path, server.settings.database), tmp_path / "backups"
    backups.mkdir(mode=0o700)

    writers = Writers(company, 4)
    writers.tally.wait_for(50)
    before = [(each, each.acknowledged) for each in writers.done]
    used.done("backup", backups / "one.zip")
    writers.tally.wait_for(writers.tally.count + 50)
    server.kill()
    writers.join()
    place = new_place(used)
    place.done("restore", backups / "one.zip")

    with Server.over(lambda *_: place.url, place.folder) as restored:
        # its token was signed by the lost key
        company = replace(restored.again(company), admin=restored.admin)
        for work, acknowledged in before:
            check_work(company, replace(work, acknowledged=acknowledged))
        number = company.changes()[-1].number
        check_log(replace(company, stored=restored.admin.known(company.id)))
        assert number >= 50
        other = restored.again(other)
        assert other.get(path, headers={"If-None-Match": tag}).status_code == 200
        assert other.patch(path, {"name": "B"}, tag).status_code == 412
        assert other.get(link).status_code == 410
