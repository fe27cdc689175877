"""Dozens of writers in several processes, and a reader that follows the change log."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread

import msgspec

from comptoir.config import Settings
from comptoir.store.ledger import Change
from support.client import record, tag_of
from support.companies import Company
from support.databases import migrated
from support.postgres import Databases
from support.processes import Process
from support.server import Server
from support.waiting import PATIENCE_SECONDS, until

WRITERS = 64
ROUNDS = 4
"""The records of each writer."""

Written = tuple[int, str, str]
"""A change: its number, the record's key, the verb."""


class Follower:
    """`comptoir changes --follow`, and the lines that it has printed."""

    def __init__(self, process: Process) -> None:
        self.lines: list[Change] = []
        self._process = process
        self._reading = Thread(target=self._read)
        self._reading.start()

    def has(self, number: int) -> bool:
        """Whether the change with a number was printed, or a later one."""
        return bool(self.lines) and self.lines[-1].number >= number

    def join(self) -> None:
        self._reading.join()

    def _read(self) -> None:
        for line in self._process.stdout:
            held = msgspec.json.decode(line, type=dict[str, str | int])
            values = (held["number"], held["entitySet"], held["record"])
            self.lines.append(Change(*values, held["verb"], held["at"], held["by"]))  # type: ignore[arg-type]


@contextmanager
def following(settings: Settings, company: Company) -> Iterator[Follower]:
    command = ["changes", "--follow", "--database", settings.database, "--company", company.id]
    with Process(command, os.environ, Path()) as process:
        follower = Follower(process)
        try:
            yield follower
        finally:
            process.send_signal(signal.SIGTERM)
            follower.join()


def write(company: Company, number: int, written: list[Written]) -> None:
    """Create records and change each a few times; notes the acknowledged writes."""
    for rounds in range(ROUNDS):
        body = {"number": f"{number}-{rounds}", "description": "new"}
        answer = company.post("campaignsExt", body)
        key = str(record(answer, 201)["id"])
        written.append((version_of(tag_of(answer)), key, "create"))
        for value in range(3):
            path, change = f"campaignsExt({key})", {"description": f"{value}"}
            answer = company.patch(path, change, if_match=tag_of(answer))
            assert answer.status_code == 200, answer.text
            written.append((version_of(tag_of(answer)), key, "update"))


def version_of(tag: str) -> int:
    """The change number at the end of an ETag."""
    return int(tag.rstrip('"').rpartition(".")[2])


def test_a_follower_sees_each_change_once_and_in_order(
    postgres_server: Databases, tmp_path: Path
) -> None:
    """Although the transactions of 64 writers in two processes wait for one another."""
    settings = Settings(
        database=migrated(postgres_server),
        keys=str(tmp_path / "keys"),
        lock_seconds=PATIENCE_SECONDS,
    )
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    with Server(settings, folders[0]) as one, Server(settings, folders[1]) as two:
        company = one.new_company()
        also = replace(company, carrier=two, root=f"{two.client.root}/companies({company.id})")
        written: list[list[Written]] = [[] for _ in range(WRITERS)]
        with following(settings, company) as follower:
            threads = [
                Thread(target=write, args=((company, also)[number % 2], number, notes))
                for number, notes in enumerate(written)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            last = len(company.changes())
            until(lambda: follower.has(last) or None, "the last change in the replicated log")

    assert [each.number for each in follower.lines] == list(range(1, last + 1))
    printed = {(each.number, each.record, each.verb) for each in follower.lines}
    acknowledged = {each for notes in written for each in notes}
    assert acknowledged == printed
