"""Processes share the history of a rehearsal by files of a limited size."""

from pathlib import Path

import msgspec
import pytest

from comptoir.http.rehearsing.history import (
    MOST_FILE_BYTES,
    History,
    Meet,
    Note,
    Sent,
    SharedHistory,
)
from comptoir.rehearsal import Address, Trap

A = Address("client:a", "PATCH", "/api/companies(1)/contactsExt(2)")
BODY = msgspec.Raw(msgspec.json.encode("x" * (64 << 10)))


def sent(number: int) -> Note:
    request = Sent("", str(number), A.client, A.method, A.path, body=BODY)
    return Note(0.0, A, met=(Meet(Trap.LOCK, by_fault=True),), sent=request)


def listed(history: History) -> list[str]:
    return [each.request for each in history.requests()]


def locks(history: History) -> int:
    return next(each.met for each in history.report()[A.client] if each.trap is Trap.LOCK)


def test_processes_have_one_history(tmp_path: Path) -> None:
    first, second = SharedHistory(tmp_path), SharedHistory(tmp_path)
    first.add(Note(1.0, A, met=(Meet(Trap.LOCK, by_fault=False, wait=5.0),)))
    second.add(Note(2.0, A, begins=True))
    second.add(Note(2.0, A, succeeded=True))
    (line,) = [each for each in first.report()[A.client] if each.met]
    assert (line.met, line.hasty, line.recovery) == (1, 1, "no")
    assert second.report() == first.report()
    first.add(Note(3.0, A, forgets=True))
    assert (first.report(), second.report()) == ({}, {})


def test_old_files_are_deleted(tmp_path: Path) -> None:
    writer, reader = SharedHistory(tmp_path), SharedHistory(tmp_path)
    numbers: list[str] = []
    while not (tmp_path / "history-3").exists():
        numbers.append(str(len(numbers)))
        writer.add(sent(len(numbers) - 1))
        if len(numbers) % 100 == 0:
            reader.catch_up()
    assert len(numbers) * len(BODY) < 4 * MOST_FILE_BYTES
    assert sorted(each.name for each in tmp_path.glob("history-*")) == ["history-2", "history-3"]
    assert listed(reader) == listed(writer) == numbers
    assert locks(reader) == locks(writer) == len(numbers)
    # a process that starts late knows what the files have
    late = listed(SharedHistory(tmp_path))
    assert 100 < len(late) < len(numbers)
    assert late == numbers[-len(late) :]


@pytest.mark.parametrize("rest", ["", "\n"])
def test_a_process_that_is_killed_may_leave_a_part_of_a_note(rest: str, tmp_path: Path) -> None:
    history = SharedHistory(tmp_path)
    history.add(sent(1))
    with (tmp_path / "history-0").open("a") as file:
        file.write('{"at":0.0,"addr' + rest)
    for number in (2, 3):
        history.add(sent(number))
    assert listed(history)[-1] == "3"
    assert listed(SharedHistory(tmp_path))[-1] == "3"
