"""`comptoir load`: the files that it accepts, its output, its exit status, and resuming."""

import asyncio
import signal
from pathlib import Path

import pytest

from comptoir.app import open_store
from comptoir.config import Settings
from comptoir.store.store import Store
from support.command import COMPANY, Command
from support.databases import ON_SQLITE, run_sql
from support.processes import Process

RESUMES = b"comptoir: interrupted. The same command resumes.\n"
CUSTOMERS = 12_000
"""Enough rows that a load is not finished when its first part is visible."""

CELLS = "the line has 1 cells, but the first line names 2 columns. Give one cell for each column."
NOTHING = "0 inserted, 0 updated, 0 unchanged"


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content, encoding="utf-8")
    return folder


def test_a_folder_is_loaded_and_the_counts_are_added(ready: Command) -> None:
    folder = write(
        ready.folder / "in",
        itemsExt__csv="number,displayName\nI1,One\nI2,Two\n",
        unitsOfMeasureExt__ndjson='{"code":"PCS"}\n',
        README__md="# not loaded",
        _hidden__csv="",
    )
    (folder / "_hidden.csv").rename(folder / ".hidden.csv")
    result = ready.done("load", "--company", COMPANY.upper(), folder)
    assert result.out.splitlines() == [
        f"{folder}/itemsExt.csv: 2 rows: 2 inserted, 0 updated, 0 unchanged, 0 refused",
        f"{folder}/unitsOfMeasureExt.ndjson: 1 rows: 1 inserted, 0 updated, 0 unchanged, 0 refused",
        "total: 3 rows: 3 inserted, 0 updated, 0 unchanged, 0 refused",
    ]
    assert result.err == ""


@ON_SQLITE
def test_a_terminal_shows_progress_and_nothing_of_it_remains(ready: Command) -> None:
    folder = write(ready.folder / "in", itemsExt__csv="number\nI1\n")
    lines = ready.on_terminal("load", "--company", COMPANY, folder).err.split("\r\033[K")
    assert lines == ["", "checking itemsExt: 1 rows", "writing itemsExt: 1 of 1 rows", ""]


def test_errors_name_file_line_and_column_and_the_status_is_1(ready: Command) -> None:
    folder = write(
        ready.folder / "in",
        customersExt__csv="number,taxLiable\nC1,true\nC2,maybe\nC3\n",
        itemsExt__csv="number\nI1\n",
    )
    result = ready.here("load", "--company", COMPANY, folder)
    assert result.status == 1
    assert result.err.splitlines() == [
        (
            f"{folder}/customersExt.csv:3: taxLiable: must be true or false, not 'maybe'. "
            "Send a value such as true."
        ),
        f"{folder}/customersExt.csv:4: {CELLS}",
    ]
    assert result.out.splitlines() == [
        f"{folder}/customersExt.csv: 3 rows: {NOTHING}, 2 refused; nothing was written",
        f"{folder}/itemsExt.csv: 1 rows: 1 inserted, 0 updated, 0 unchanged, 0 refused",
        "total: 4 rows: 1 inserted, 0 updated, 0 unchanged, 2 refused",
    ]


def test_keep_good_prints_the_errors_and_succeeds(ready: Command) -> None:
    folder = write(ready.folder / "in", customersExt__csv="number,taxLiable\nC1,true\nC2,maybe\n")
    result = ready.done("load", "--company", COMPANY, folder, "--keep-good")
    assert result.last == "total: 2 rows: 1 inserted, 0 updated, 0 unchanged, 1 refused"
    assert "customersExt.csv:3: taxLiable:" in result.err


@ON_SQLITE
def test_many_errors_are_counted(ready: Command) -> None:
    rows = "".join(f"C{at},maybe\n" for at in range(50))
    folder = write(ready.folder / "in", customersExt__csv=f"number,taxLiable\n{rows}")
    result = ready.here("load", "--company", COMPANY, folder)
    assert len(result.err.splitlines()) == 21
    assert result.err.splitlines()[-1].endswith("50 lines are refused; the first are shown.")


NOT_LOADED: list[tuple[dict[str, str], str]] = [
    (
        {"customerExt.csv": "number\n"},
        "an entity set: 'customerExt' does not exist. Did you mean customersExt?",
    ),
    ({"people.csv": "number\n"}, "is not named after an entity set"),
    ({"companies.csv": "id\n"}, "has no records of its own"),
    ({"filteredItemAttributesExt.csv": "itemNo\n"}, "has no records of its own"),
    ({"notes.txt": "x"}, "contains no file that can be loaded"),
    ({"itemsExt.csv": "number\nX\n", "itemsExt.json": "[]"}, "are both for itemsExt"),
]


@ON_SQLITE
def test_a_folder_that_cannot_be_loaded_is_refused_before_anything_is_written(
    ready: Command,
) -> None:
    for number, (names, reason) in enumerate(NOT_LOADED):
        folder = ready.folder / f"in{number}"
        folder.mkdir()
        if "notes.txt" not in names:
            (folder / "campaignsExt.csv").write_text("number\nCP1\n", encoding="utf-8")
        for name, content in names.items():
            (folder / name).write_text(content, encoding="utf-8")
        assert reason in ready.error("load", "--company", COMPANY, folder)
    assert ready.done("changes", "--company", COMPANY).out == ""


WRONG = [
    (["--company", COMPANY, "nowhere.csv"], "nowhere.csv does not exist"),
    (["--company", COMPANY, "notes.txt"], "Name a file that ends in .csv, "),
    (["--company", COMPANY, "/dev/null"], "is not a file"),
    (["--company", "17", "itemsExt.csv"], "'17' is not a company's id"),
    (["--company", COMPANY[:-1] + "f", "itemsExt.csv"], "does not exist. List the companies"),
    (["--company", COMPANY], "Missing argument"),
    (["itemsExt.csv"], "Missing option '--company'"),
    (["--company", COMPANY, "--bad", "itemsExt.csv"], "No such option '--bad'"),
]


@ON_SQLITE
def test_a_wrong_argument_is_an_error_in_one_line(ready: Command) -> None:
    write(ready.folder, notes__txt="x", itemsExt__csv="number\nX\n")
    for arguments, reason in WRONG:
        assert reason in ready.error("load", *arguments)


def many_customers(folder: Path, rows: int) -> Path:
    path = folder / "customersExt.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("displayName,number,lastModifiedDateTime\n")
        # blank numbers match no record: written twice, they would be two records
        file.writelines(
            f"Customer {at},{f'C{at}' if at % 2 else ''},2020-01-01T00:00:00Z\n"
            for at in range(rows)
        )
    return path


def names_in(url: str, company_id: str) -> list[str]:
    rows = run_sql(
        url,
        'SELECT "displayName" FROM "customersExt" WHERE company_id = :company',
        company=company_id,
    )
    return [str(name) for (name,) in rows]


def wait_for_a_part(command: Command, process: Process) -> None:
    """Return when the process has written some of the rows."""

    async def opened() -> Store:
        return open_store(Settings(database=command.url))

    with asyncio.Runner() as runner:
        store = runner.run(opened())
        company = runner.run(store.company(COMPANY))
        assert company is not None
        while not runner.run(store.position(company)):
            assert process.poll() is None
        runner.run(store.close())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_interrupted_load_resumes_and_writes_no_row_twice(ready: Command, number: int) -> None:
    path = many_customers(ready.folder, CUSTOMERS)
    with ready.started("load", "--company", COMPANY, path) as process:
        wait_for_a_part(ready, process)
        process.send_signal(number)
        assert process.wait() == (-number if number == signal.SIGKILL else 128 + number)
        said = process.stderr.read()
    assert said == (b"" if number == signal.SIGKILL else RESUMES)
    part = len(names_in(ready.url, COMPANY))
    assert 0 < part < CUSTOMERS
    result = ready.done("load", "--company", COMPANY, path)
    assert f"{CUSTOMERS - part} inserted" in result.last
    assert f"resumed at row {part}" in result.out
    assert sorted(names_in(ready.url, COMPANY)) == sorted(
        map("Customer {}".format, range(CUSTOMERS))
    )
    log = ready.done("changes", "--company", COMPANY).out.splitlines()
    numbers = [line.split(":")[1].split(",")[0] for line in log]
    assert numbers == [str(at) for at in range(1, CUSTOMERS + 1)]
