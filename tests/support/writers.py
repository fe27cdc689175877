"""Concurrent writers: each creates a record and changes it until the server has ended."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count as numbers
from threading import Condition, Thread

import httpx

from support.client import record, tag_of
from support.companies import Company
from support.waiting import PATIENCE_SECONDS

DELETED = 10


@dataclass
class Work:
    """The writes of a writer: the record's number within the company, and two counters.

    `acknowledged` is the last value of a successful write, `attempted` the last one that was sent;
    -1 is the create, `DELETED` the delete at the end.
    """

    code: str
    address: str = ""
    attempted: int = -2
    acknowledged: int = -2


@dataclass
class Tally:
    """Counts acknowledged writes, and lets others wait for a number of them."""

    count: int = 0
    changed: Condition = field(default_factory=Condition)

    def add(self) -> None:
        with self.changed:
            self.count += 1
            self.changed.notify_all()

    def wait_for(self, number: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.count >= number, PATIENCE_SECONDS)


class Unavailable(Exception):  # noqa: N818 - what is to be expected
    """The database was unreachable, so the result of a write is unknown."""


def _answered(response: httpx.Response) -> httpx.Response:
    """The response to a write."""
    if response.status_code == 503:
        raise Unavailable
    return response


class Writers:
    """Some writers of itemReferences: threads that run until their connections break.

    They also end when the service responds that its database is down. Every change writes one value
    to two properties, so a partial write is visible.
    """

    def __init__(self, company: Company, count: int, name: str = "") -> None:
        self.tally = Tally()
        self.done: list[Work] = []
        self._company = company
        self._name = name
        self._threads = [Thread(target=self._write, args=(number,)) for number in range(count)]
        for thread in self._threads:
            thread.start()

    def join(self) -> Sequence[Work]:
        """Their writes, after all have noticed that the server has ended."""
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()
        return self.done

    def _write(self, number: int) -> None:
        with suppress(httpx.TransportError, Unavailable):
            for rounds in numbers():
                work = Work(f"{self._name}{number}-{rounds}")
                self.done.append(work)
                self._work(work)

    def _work(self, work: Work) -> None:
        """Create a record, change it, and delete it, each time with the last tag."""
        company = self._company
        work.attempted = -1
        body = {"itemNo": work.code, "referenceNo": "R", "description": "-1", "description2": "-1"}
        answer = _answered(company.post("itemReferencesExt", body))
        work.address = f"itemReferencesExt({record(answer, 201)['id']})"
        work.acknowledged = -1
        self.tally.add()
        for value in range(DELETED):
            work.attempted = value
            changes = {"description": f"{value}", "description2": f"{value}"}
            answer = _answered(company.patch(work.address, changes, if_match=tag_of(answer)))
            assert answer.status_code == 200, answer.text
            work.acknowledged = value
            self.tally.add()
        work.attempted = DELETED
        answer = _answered(company.delete(work.address, if_match=tag_of(answer)))
        assert answer.status_code == 204, answer.text
        work.acknowledged = DELETED
        self.tally.add()
