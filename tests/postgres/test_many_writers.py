"""Dozens of writers in several processes, and a reader that follows the change log."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import msgspec

from comptoir.config import Settings
from support.client import record, tag_of
from support.command import Command
from support.companies import Company
from support.databases import migrated
from support.postgres import Databases
from support.processes import read_lines
from support.server import Server
from support.waiting import PATIENCE_SECONDS

WRITERS = 64
ROUNDS = 4
"""The records of each writer."""

UPDATES = 3
"""The changes of each record after the first."""

Written = tuple[int, str, str]
"""A change: its number, the record's key, the verb."""


def write(company: Company, writer: int) -> list[Written]:
    """Create records and change each a few times; returns the acknowledged writes."""
    written: list[Written] = []

    def note(answer: httpx.Response, status: int, verb: str) -> str:
        """Note a write, and return the path of its record."""
        key = str(record(answer, status)["id"])
        number = tag_of(answer).rstrip('"').rpartition(".")[2]
        written.append((int(number), key, verb))
        return f"campaignsExt({key})"

    for rounds in range(ROUNDS):
        body = {"number": f"{writer}-{rounds}", "description": "new"}
        answer = company.post("campaignsExt", body)
        path = note(answer, 201, "create")
        for value in range(UPDATES):
            answer = company.patch(path, {"description": f"{value}"}, tag_of(answer))
            note(answer, 200, "update")
    return written


def test_a_follower_sees_each_change_once_and_in_order(
    postgres_server: Databases, tmp_path: Path
) -> None:
    """Although the transactions of 64 writers in two processes wait for one another."""
    url, last = migrated(postgres_server), WRITERS * ROUNDS * (1 + UPDATES)
    keys = str(tmp_path / "keys")
    settings = Settings(database=url, keys=keys, lock_seconds=PATIENCE_SECONDS)
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    with (
        Server(settings, folders[0]) as one,
        Server(settings, folders[1]) as two,
        ThreadPoolExecutor(WRITERS + 1) as threads,
    ):
        company = one.new_company()
        also = replace(company, carrier=two, root=f"{two.client.root}/companies({company.id})")
        follow = ("changes", "--follow", "--company", company.id)
        with Command(tmp_path, url).started(*follow) as follower:
            reading = threads.submit(read_lines, follower, last)
            writing = [
                threads.submit(write, (company, also)[number % 2], number)
                for number in range(WRITERS)
            ]
            acknowledged = {each for writer in writing for each in writer.result()}
            lines = [msgspec.json.decode(each) for each in reading.result()]

    assert [each["number"] for each in lines] == list(range(1, last + 1))
    assert acknowledged == {(each["number"], each["record"], each["verb"]) for each in lines}
