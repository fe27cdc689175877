"""`comptoir dump`: the files load back as equal records."""

import asyncio
import stat
from pathlib import Path

import msgspec
import pytest

from comptoir.catalog import MODEL
from comptoir.features.transfer.commands import dump_file, dump_records
from comptoir.store.snapshot import open_snapshot
from support.command import COMPANY, Command
from support.databases import ON_SQLITE
from support.load_target import LoadTarget
from support.samples import OF_THE_INTERFACE
from support.service import Service
from support.stores import opened
from transfer.conftest import STEP_ROWS

TEXTS = (
    'He said "no", twice',
    "two\nlines",
    "two\r\nlines and a\rreturn",
    "only a\rreturn",
    "a, b; c\td",
    "العربية",
    "中文字符",
    "🚲 🧑‍🔧",
    " ",
    "  around  ",
    "'=1+1",
    "\\n",
    "",
    "\ufeffmark",
    "\u2028 \x85 \x0b \x1c",
)


@pytest.fixture
def ready(load_target: LoadTarget) -> Command:
    """The command, with the database of the target."""
    return Command(load_target.folder, load_target.url)


def dumped(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@ON_SQLITE  # tests/catalog loads files of every type on each database
@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_a_sample_of_every_entity_type_is_loaded_byte_for_byte(
    sample: tuple[Command, str], tmp_path: Path, form: str
) -> None:
    command, company_id = sample
    other = command.done("company", "create", f"Copy {form}").last_word
    first, second = tmp_path / "first", tmp_path / "second"
    command.done("dump", "--company", company_id, first, "--format", form, "--with-secrets")
    command.done("load", "--company", other, first)
    command.done("dump", "--company", other, second, "--format", form, "--with-secrets")
    assert dumped(first) == dumped(second)
    assert set(dumped(first)) == {f"{name}.{form}" for name in OF_THE_INTERFACE}


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_every_text_and_number_is_loaded_unchanged(
    ready: Command, load_target: LoadTarget, form: str
) -> None:
    amounts = ["0", "0.00001", "-0.1", "9999999999999.99999", "-9999999999999.99999", "1e3"]
    rows = [
        {
            "number": f"C{at:02}",
            "displayName": text,
            "name2": text,
            "creditLimit": msgspec.Raw(amounts[at % len(amounts)].encode()),
            "taxLiable": True,
        }
        for at, text in enumerate(TEXTS)
    ]
    load_target.load("customersExt.ndjson", b"\n".join(msgspec.json.encode(row) for row in rows))
    before = load_target.records("customersExt")
    assert sorted(str(each["displayName"]) for each in before) == sorted(TEXTS)
    folder = ready.folder / "out"
    ready.done("dump", "--company", load_target.company_id, folder, "--format", form)
    ((name, content),) = dumped(folder).items()
    assert name == f"customersExt.{form}"
    exact = b'"creditLimit":9999999999999.99999,"taxLiable":true,'
    assert (exact if form == "ndjson" else b"9999999999999.99999") in content
    other = load_target.another(load_target.folder)
    ready.done("load", "--company", other.company_id, folder)
    assert other.records("customersExt") == before


def test_secrets_are_left_out_unless_asked_for(ready: Command, load_target: LoadTarget) -> None:
    load_target.load("contactsExt.csv", "number,displayName,onlinePassword\nK1,One,hunter2\n")
    dump = ("dump", "--company", load_target.company_id)
    for form in ("ndjson", "csv"):
        plain, secret = ready.folder / f"plain {form}", ready.folder / f"secret {form}"
        ready.done(*dump, plain, "--format", form)
        ready.done(*dump, secret, "--format", form, "--with-secrets")
        assert b"onlinePassword" not in (plain / f"contactsExt.{form}").read_bytes()
        path = secret / f"contactsExt.{form}"
        assert b"hunter2" in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_file_is_overwritten(ready: Command, load_target: LoadTarget) -> None:
    load_target.load("itemsExt.csv", "number\nI1\n")
    folder = ready.folder / "out"
    folder.mkdir()
    (folder / "unitsOfMeasureExt.ndjson").write_text("mine", encoding="utf-8")
    error = ready.error("dump", "--company", load_target.company_id, folder)
    assert "unitsOfMeasureExt.ndjson already exists" in error
    assert [path.name for path in folder.iterdir()] == ["unitsOfMeasureExt.ndjson"]
    ready.done("dump", "--company", load_target.company_id, folder, "--format", "csv")


def test_a_dump_does_not_show_later_writes(
    service: Service, tmp_path: Path, small_steps: None
) -> None:
    """Neither the draft of a file nor a later file remains."""
    company = service.new_company()
    company.load("customersExt", *({"number": f"C{at}"} for at in range(STEP_ROWS + 10)))
    company.load("shippingAgentsExt", {"code": "A"})

    def write() -> None:
        company.load("customersExt", *({"number": f"D{at}"} for at in range(100)))
        company.load("customersExt", {"number": f"C{STEP_ROWS}", "city": "Wien"})
        company.load("shippingAgentsExt", {"code": "B"})

    async def dump() -> list[int]:
        async with opened(company.admin.settings) as store, open_snapshot(store) as snapshot:
            reading = snapshot.rows("customersExt", company.id)
            first = await anext(reading)
            await asyncio.to_thread(write)
            rest = [row async for rows in reading for row in rows]
            assert not any("Wien" in row for row in rest)
            dumped = [
                await dump_records(
                    snapshot,
                    company.stored,
                    each,
                    dump_file(tmp_path, each, "ndjson"),
                    lambda *_: None,
                    with_secrets=False,
                )
                for each in map(MODEL.by_name.__getitem__, ("customersExt", "shippingAgentsExt"))
            ]
            return [len(first) + len(rest), *dumped]

    assert asyncio.run(dump()) == [STEP_ROWS + 10, STEP_ROWS + 10, 1]
    assert b"Wien" not in (tmp_path / "customersExt.ndjson").read_bytes()
    assert len(company.listed("shippingAgentsExt")) == 2


@ON_SQLITE  # the terminal does not depend on the database
def test_progress_shows_on_a_terminal_and_nowhere_else(
    ready: Command, load_target: LoadTarget
) -> None:
    """The progress is on the standard error stream, so the printed lines do not change."""
    load_target.load("customersExt.csv", "number\n" + "".join(f"C{at}\n" for at in range(3_000)))
    arguments = ("dump", "--company", load_target.company_id)
    piped = ready.run(*arguments, "piped")
    assert piped.err == ""
    assert piped.last == "3000 records in 1 files"
    lines = (ready.folder / "piped" / "customersExt.ndjson").read_bytes().splitlines()
    assert len(set(lines)) == 3_000
    shown = ready.on_terminal(*arguments, "piped2")
    assert "writing customersExt" in shown.err
    assert "3000 rows" in shown.err
    assert shown.out == piped.out.replace("piped", "piped2")


def test_a_dump_that_is_not_possible_is_an_error_in_one_line(
    ready: Command, load_target: LoadTarget
) -> None:
    (ready.folder / "file").touch()
    for company, arguments, reason in (
        (load_target.company_id, ["file/out"], "cannot be created"),
        (COMPANY, ["out"], "does not exist. List the companies"),
        (load_target.company_id, ["out", "--format", "xml"], "'xml'"),
    ):
        assert reason in ready.error("dump", "--company", company, *arguments)
