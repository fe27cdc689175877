"""`comptoir changes`: each change once and in order, past and future ones."""

import signal

import msgspec
import pytest

from support.command import COMPANY, Command
from support.databases import run_sql
from support.load_target import LoadTarget
from support.processes import read_lines


def load_items(load_target: LoadTarget, first: int, last: int) -> None:
    rows = "".join(f"I{at}\n" for at in range(first, last + 1))
    load_target.load("itemsExt.csv", f"number\n{rows}")


def numbers(lines: list[bytes]) -> list[int]:
    return [int(msgspec.json.decode(line)["number"]) for line in lines]


def test_a_change_names_the_record_and_not_its_content(
    ready: Command, load_target: LoadTarget
) -> None:
    load_target.load("contactsExt.csv", "number,displayName,onlinePassword\nK1,One,hunter2\n")
    load_target.load("contactsExt.csv", "number,displayName\nK1,Two\n")
    first, second = map(
        msgspec.json.decode, ready.done("changes", "--company", COMPANY).out.splitlines()
    )
    key = load_target.records("contactsExt")[0]["id"]
    assert first == {
        "number": 1,
        "entitySet": "contactsExt",
        "record": key,
        "verb": "create",
        "at": first["at"],
        "by": "comptoir load",
    }
    assert (second["number"], second["verb"], second["record"]) == (2, "update", key)


def test_every_change_comes_once_and_in_order(ready: Command, load_target: LoadTarget) -> None:
    load_items(load_target, 1, 2_500)
    every = ready.done("changes", "--company", COMPANY).out.encode().splitlines()
    assert numbers(every) == list(range(1, 2_501))
    rest = ready.done("changes", "--company", COMPANY, "--since", "2498").out.encode().splitlines()
    assert rest == every[2_498:]
    assert ready.done("changes", "--company", COMPANY, "--since", "2500").out == ""
    error = ready.error("changes", "--company", COMPANY, "--since", "2501")
    assert "the log ends at entry 2500, before --since 2501" in error
    assert "Start again without --since." in error
    assert "--since" in ready.error("changes", "--company", COMPANY, "--since", "-1")


def test_following_prints_new_changes_and_ends_cleanly(
    ready: Command, load_target: LoadTarget
) -> None:
    load_items(load_target, 1, 2)
    with ready.started("changes", "--company", COMPANY, "--follow") as process:
        assert numbers(read_lines(process, 2)) == [1, 2]
        load_items(load_target, 3, 5)
        assert numbers(read_lines(process, 3)) == [3, 4, 5]
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


@pytest.mark.usefixtures("brief_cache")
def test_following_ends_with_an_error_when_the_company_is_renewed(
    ready: Command, load_target: LoadTarget
) -> None:
    load_items(load_target, 1, 1)
    with ready.started("changes", "--company", COMPANY, "--follow") as process:
        read_lines(process, 1)
        ready.done("company", "renew", COMPANY)
        assert process.wait() == 1
        assert b"was renewed" in process.stderr.read()


def test_a_reader_that_closes_the_pipe_is_not_an_error(
    ready: Command, load_target: LoadTarget
) -> None:
    load_items(load_target, 1, 5_000)
    for options in ((), ("--follow", "--since", "4999")):
        with ready.started("changes", "--company", COMPANY, *options) as process:
            read_lines(process, 1)
            process.stdout.close()
            assert process.wait() == 0
            assert process.stderr.read() == b""


def test_a_reader_learns_where_a_trimmed_log_begins(
    ready: Command, load_target: LoadTarget
) -> None:
    load_items(load_target, 1, 700)
    sql = f"DELETE FROM changes WHERE company_id = '{COMPANY}' AND number <= 600"
    run_sql(ready.url, sql)

    def read(*options: str) -> list[int]:
        printed = ready.done("changes", "--company", COMPANY, *options).out
        return numbers(printed.encode().splitlines())

    assert read() == read("--since", "600") == list(range(601, 701))
    for since in ("0", "599"):
        error = ready.error("changes", "--company", COMPANY, "--since", since)
        assert f"the log begins with entry 601: others after --since {since} are no longer" in error
        assert "Start again without --since" in error
