"""A catalog of a user's own: its sets are served like any other, and it grows by additions."""

import json
import multiprocessing
import os
import signal
import tomllib
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from itertools import count
from pathlib import Path

import asyncpg
import pytest
from jsonschema_rs import Draft202012Validator

from comptoir.catalog import MODEL, accepted_model, read_catalog
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.errors.refusal import OperatorError
from comptoir.store.growth import changes
from comptoir.store.migration import accepted_catalog, make_ready, migrate
from comptoir.store.sqlite.connection import Connection as FileConnection
from support.catalogs import model_of
from support.command import Command
from support.companies import Company
from support.databases import ON_SQLITE, FreshDatabase
from support.service import Service, StartService
from support.together import together

fork = multiprocessing.get_context("fork")

OWN = """comptoir = 1
base = "built-in"

[sets.itemsExt.properties]
vendorNumber = "String(20)"

[sets.vendors]
type = "vendor"
caption = "Vendor"
unique = [["number"]]

[sets.vendors.properties]
id = "Guid"
number = { type = "String(20)", required = true, caption = "No." }
name = { type = "String(100)", caption = "Name" }
searchName = { type = "String(100)", computed_default = "toupper(name)" }
payDays = "Int32"
changedAt = { type = "DateTimeOffset", modified_at = true }

[sets.vendors.navigation]
items = { to = "itemsExt[]", on = { number = "vendorNumber" } }
"""
MORE = OWN.replace('payDays = "Int32"', 'payDays = "Int32"\nrating = "Decimal(18,5)"').replace(
    'unique = [["number"]]', 'unique = [["number"]]\nindexes = [["payDays"]]'
)
ITEMS = "[sets.vendors.navigation]"
PAIR = ', on = { number = "vendorNumber" }'
COUNT = '{ type = "Int32", maximum = 90 }'
LARGER = MORE.replace('"String(100)", caption', '"String(200)", caption').replace(
    "[sets.vendors]", '[sets.terms]\ntype = "term"\nproperties = { id = "Guid" }\n\n[sets.vendors]'
)


@pytest.fixture
def service(start_service: StartService, tmp_path: Path) -> Service:
    return start_service(model_of(tmp_path, OWN))


def test_a_larger_catalog_keeps_records_and_their_tags(service: Service, company: Company) -> None:
    before = company.post("vendors", {"number": "V1", "name": "Ada"})
    folder = Path(service.settings.keys).parent
    larger = model_of(folder, LARGER)
    migrate(service.settings, larger)
    # a service that has the former catalog goes on with it
    assert company.get("vendors(number='V1')").json() == before.json()
    assert company.post("vendors", {"number": "V2", "payDays": 7}).status_code == 201
    with Service(lambda *_: service.settings.database, folder, larger) as grown:
        there = replace(company, carrier=grown)
        after = there.get("vendors(number='V1')").json()
        assert (after["rating"], after["@odata.etag"]) == (0, before.json()["@odata.etag"])
        ordered = there.get("vendors", "$orderby=payDays desc&$select=number,rating").json()
        assert [each["number"] for each in ordered["value"]] == ["V2", "V1"]
        assert there.post("terms", {}).status_code == 201
        rated = there.patch("vendors(number='V2')", {"rating": 4.5}, "*")
        assert rated.json()["rating"] == 4.5


def test_a_database_keeps_the_order_of_the_file(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    model = model_of(tmp_path, OWN)
    settings = Settings(database=fresh_database(tmp_path, model))
    accepted = accepted_model("kept", accepted_catalog(settings) or "")
    assert list(accepted.by_name["vendors"].type.by_name) == [
        *("id", "number", "name", "searchName", "payDays", "changedAt")
    ]


def test_a_new_alternate_key_names_the_records_that_break_it(
    service: Service, company: Company
) -> None:
    folder = Path(service.settings.keys).parent
    later = model_of(folder, OWN.replace('[["number"]]', '[["number"], ["name", "payDays"]]'))
    for number in range(44):
        company.post("vendors", {"number": f"V{number}", "name": f"N{number // 2:02}"})
    with pytest.raises(OperatorError) as refused:
        migrate(service.settings, later)
    said = str(refused.value)
    assert "vendors cannot get the alternate key name, payDays, because 22 of its values" in said
    assert "N00, 0 (2); N01, 0 (2); " in said
    assert "N19, 0 (2). Change" in said
    assert "N20" not in said
    for number in range(1, 44, 2):
        assert company.patch(f"vendors(number='V{number}')", {"payDays": 1}, "*").is_success
    migrate(service.settings, later)
    # a service with the former catalog does not know the rule, and the database does
    assert company.post("vendors", {"number": "N", "name": "N03"}).status_code == 409
    with Service(lambda *_: service.settings.database, folder, later) as grown:
        there = replace(company, carrier=grown)
        assert there.get("vendors(name='N03',payDays=1)").json()["number"] == "V7"
        assert there.post("vendors", {"number": "N", "name": "N03"}).status_code == 409


@pytest.mark.parametrize("former", ["", ", on = {}"])
def test_a_navigation_property_may_get_its_pair(former: str, tmp_path: Path) -> None:
    before, after = model_of(tmp_path, OWN.replace(PAIR, former)), model_of(tmp_path, OWN)
    (added,) = changes(before.source, after.source)
    assert added == ("sets.vendors.navigation.items.on is new", True)
    assert not all(each.is_addition for each in changes(after.source, before.source))


@together(
    ("old", "new", "addition", "conflict"),
    [
        ('= "Int32"', '= "Int32"\nrank = "Int32"', "sets.vendors.properties.rank is new", ""),
        (ITEMS, f"[sets.vendors.actions]\npay = {{}}\n{ITEMS}", "sets.vendors.actions is new", ""),
        ('"vendorNumber" } }', '"vendorNumber" }, contained = true }', "", ""),
        ('payDays = "Int32"', "", "", "sets.vendors.properties.payDays is missing"),
        ('"Int32"', '"Date"', "", "sets.vendors.properties.payDays is Date and was Int32"),
        ('"String(100)", cap', '"String(50)", cap', "", "is String(50) and was String(100)"),
        ("name = { ", "name = { required = true, ", "", "vendors.properties.name.required is new"),
        ('[["number"]]', '[["payDays"]]', "", 'sets.vendors.unique is [["payDays"]]'),
        ('vendorNumber = "String(20)"', "", "", "itemsExt.properties.vendorNumber is missing"),
    ],
)
def test_what_keeps_stored_records_is_an_addition(
    old: str, new: str, addition: str, conflict: str, tmp_path: Path
) -> None:
    former = OWN.partition(ITEMS)[0] if conflict else OWN
    later = model_of(tmp_path, former.replace(old, new))
    found = changes(model_of(tmp_path, former).source, later.source)
    assert bool(found) == bool(addition or conflict)
    assert addition in "".join(each.text for each in found if each.is_addition)
    conflicts = [each.text for each in found if not each.is_addition]
    assert (bool(conflicts), conflict in "".join(conflicts)) == (bool(conflict), True)


@ON_SQLITE  # the catalogs are compared, not the databases
def test_only_additions_are_applied(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    former = model_of(tmp_path, OWN)
    settings = Settings(database=fresh_database(tmp_path, former))
    with pytest.raises(OperatorError, match=r"payDays is missing.*Only additions are applied\."):
        migrate(settings, model_of(tmp_path, OWN.replace('payDays = "Int32"', "")))
    assert accepted_catalog(settings) == former.source


def test_a_base_is_added_to_and_not_changed(tmp_path: Path) -> None:
    text = OWN.replace("vendorNumber = ", 'displayName = "String(20)"\nvendorNumber = ')
    with pytest.raises(OperatorError) as refused:
        model_of(tmp_path, text)
    (fault,) = refused.value.details
    assert ":5:1: displayName is declared in the base. Remove it" in fault
    assert {each.name for each in MODEL.sets} < {each.name for each in model_of(tmp_path, OWN).sets}


@ON_SQLITE  # the catalogs are compared, not the databases
def test_a_service_says_that_the_database_has_a_later_catalog(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    assert service.origin.get("readyz").text == "ready\n"
    assert "comptoir_later_catalog 0.0\n" in service.origin.get("metrics").text
    migrate(service.settings, model_of(Path(service.settings.keys).parent, LARGER))
    later = "warning: the database has a later catalog: this service goes on with the one"
    with caplog.at_level("WARNING"):
        for _ in range(2):
            assert service.origin.get("readyz").text.splitlines()[1].startswith(later)
    assert caplog.text.count("the database has a later catalog") == 1
    assert "comptoir_later_catalog 1.0\n" in service.origin.get("metrics").text


@ON_SQLITE  # the catalogs are compared, not the databases
def test_other_texts_need_no_migration(
    fresh_database: FreshDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    former = model_of(tmp_path, OWN)
    settings = Settings(database=fresh_database(tmp_path, former), read_only="on")
    texts = 'list_caption = "Our vendors"\ncolumns = ["name", "number"]\nunique = [["number"]]'
    later = model_of(tmp_path, OWN.replace('unique = [["number"]]', texts))
    make_ready(settings, later)
    with Service(lambda *_: settings.database, tmp_path, later) as service:
        assert service.origin.get("readyz").text == "ready\n"
    properties = OWN.partition("[sets.vendors.properties]\n")[2].partition("\n\n")[0]
    other = "\n".join(sorted(properties.splitlines()))
    ordered = model_of(tmp_path, OWN.replace(properties, other))
    with pytest.raises(OperatorError, match="in which the order differs"):
        make_ready(settings, ordered)
    assert "later catalog" not in caplog.text


KILLED_BEFORE = (1, 2, 5, "commit")
"""The change before which a process is killed; all of them are made in one transaction."""


def killed_before(change: int | str, settings: Settings, model: Model) -> int | None:
    """The status of a process that applies a catalog, -9 if it is killed."""
    process = fork.Process(target=_killing, args=(change, settings, model))
    process.start()
    process.join()
    return process.exitcode


def _killing(change: int | str, settings: Settings, model: Model) -> None:
    """Migrate, with the methods of both drivers watched that run statements."""
    numbers = count(1)

    def kill_if_reached(text: str) -> None:
        reached: int | str | None = None
        if text.startswith("COMMIT"):
            reached = "commit"
        elif not text.startswith(("SELECT", "SET", "PRAGMA", "BEGIN")):
            reached = next(numbers)
        if reached == change:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(run: Callable[..., object]) -> Callable[..., object]:
        def killing(connection: object, text: str, *given: object, **named: object) -> object:
            kill_if_reached(text)
            return run(connection, text, *given, **named)

        return killing

    server = asyncpg.Connection
    drivers = (FileConnection, "execute"), (server, "execute"), (server, "fetch")
    for owner, name in drivers:
        setattr(owner, name, watched(getattr(owner, name)))
    migrate(settings, model)


def test_a_killed_command_leaves_the_former_catalog(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    former, later = model_of(tmp_path, OWN), model_of(tmp_path, LARGER)
    settings = Settings(database=fresh_database(tmp_path, former), keys=str(tmp_path / "keys"))
    migrate(settings, former)
    for change in KILLED_BEFORE:
        assert killed_before(change, settings, later) == -signal.SIGKILL
        assert accepted_catalog(settings) == former.source
    migrate(settings, later)
    with Service(lambda *_: settings.database, tmp_path, later) as service:
        company = service.new_company()
        assert company.post("vendors", {"number": "V1", "rating": 4}).status_code == 201
        assert company.post("terms", {}).status_code == 201


def test_commands_use_the_catalog_of_the_database(command: Command) -> None:
    file, data = command.folder / "own.toml", command.folder / "vendors.csv"
    file.write_text(OWN, encoding="utf-8")
    data.write_text("number,name\nV1,Ada\n", encoding="utf-8")
    command.done("catalog", "apply", file)
    company = command.done("company", "create", "Acme").out.splitlines()[-1]
    command.done("load", "--company", company, str(data))
    command.done("dump", "--company", company, str(command.folder / "out"))
    assert '"searchName":"ADA"' in (command.folder / "out" / "vendors.ndjson").read_text()
    file.write_text(LARGER, encoding="utf-8")
    grown = command.done("catalog", "apply", file)
    assert grown.out.endswith(
        f" and the catalog of {file}.\nThe JSON of 1 records is encoded again.\n"
    )
    file.write_text(OWN, encoding="utf-8")
    assert f"the catalog {file} is older than that of " in command.error("catalog", "apply", file)
    file.write_text(LARGER.replace('"Vendor"', '"Supplier"'), encoding="utf-8")
    assert "encoded" not in command.done("catalog", "apply", file).out
    file.write_text(OWN.replace('"Int32"', '"Int23"'), encoding="utf-8")
    faulty = command.here("catalog", "apply", file).err
    assert f"\n{file}:17:1: Int23 is not a known type. Did you mean Int32?" in faulty


def test_a_file_is_checked_and_compared_before_it_is_applied(command: Command) -> None:
    file = command.folder / "own.toml"
    file.write_text(OWN, encoding="utf-8")
    assert command.done("catalog", "check", file).out.startswith(f"{file}: 14 entity sets with ")
    command.done("catalog", "apply", file)
    assert command.done("catalog", "diff", file).out == ""
    file.write_text(LARGER, encoding="utf-8")
    added = command.done("catalog", "diff", file).out.splitlines()
    assert "added: sets.terms is new" in added
    assert "added: sets.vendors.properties.name.type is String(200) and was String(100)" in added
    file.write_text(OWN.replace('payDays = "Int32"', 'days = "Int32"'), encoding="utf-8")
    refused = command.here("catalog", "diff", file)
    assert refused.status == 1
    assert refused.out.splitlines() == [
        "refused: sets.vendors.properties.payDays is missing",
        "added: sets.vendors.properties.days is new",
    ]
    missing = command.error("catalog", "diff", file, "--database", "sqlite:///nothing.db")
    assert "nothing.db does not exist" in missing


def test_an_export_is_the_same_catalog(command: Command) -> None:
    file = command.folder / "own.toml"
    text = OWN + 'people = { to = "contactsExt[]", on = { number = "name2" } }\n[enums]\n'
    file.write_text(f'{text}Level = ["None", "Gold"]\n', encoding="utf-8")
    command.done("catalog", "apply", file)
    exported = command.folder / "exported.toml"
    exported.write_text(command.done("catalog", "export").out, encoding="utf-8")
    assert read_catalog(exported).source == read_catalog(file).source
    assert command.done("catalog", "diff", exported).out == ""


def test_a_schema_lets_editors_check_files(command: Command) -> None:
    schema = json.loads(command.done("catalog", "schema").out)
    validator = Draft202012Validator(schema)
    built_in = files("comptoir.catalog").joinpath("built-in.toml").read_text(encoding="utf-8")
    for text in (built_in, OWN):
        validator.validate(tomllib.loads(text))
    for old, new in (("type = ", "tpe = "), ("unique", "uniqe"), ('"Vendor"', "1"), ("to = ", "")):
        changed = OWN.replace(old, new, 1) if new else OWN.replace('to = "itemsExt[]", ', "")
        assert not validator.is_valid(tomllib.loads(changed)), new


@ON_SQLITE  # the catalogs are compared, not the databases
def test_a_copy_leaves_out_what_the_other_catalog_lacks(
    service: Service, fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    company = service.new_company()
    made = company.post("vendors", {"number": "V1", "name": "Ada", "payDays": 30}).json()
    company.post("itemsExt", {"number": "I1", "vendorNumber": "V1"})
    fewer = OWN.partition(ITEMS)[0]
    terms = "[sets.terms]\ntype = 'term'\nproperties = { id = 'Guid' }\n"
    more = f"rank = {{ type = 'Int32', default = 4 }}\n\n{terms}"
    other = model_of(tmp_path, fewer.replace('payDays = "Int32"\n', "") + more)
    folders = [tmp_path / name for name in ("other", "unfit")]
    for each in folders:
        each.mkdir()
    there = fresh_database(folders[0], other)
    command = Command(tmp_path, service.settings.database)
    copying = ("copy", "--company", company.id, "--from", service.settings.database, "--to")
    copied = command.done(*copying, there).out
    assert copied.splitlines()[1:] == [
        "left out, since the target does not have it: vendors.payDays of 1 records"
    ]
    assert "all of them there before" in command.done(*copying, there).out
    with Service(lambda *_: there, tmp_path, other) as target:
        copy = replace(company, carrier=target)
        found = copy.get("vendors(number='V1')").json()
        kept = {name: value for name, value in made.items() if name != "payDays"}
        assert found == {**kept, "rank": 4}
        assert copy.get("itemsExt(number='I1')").json()["vendorNumber"] == "V1"
        assert copy.post("terms", {}).status_code == 201
    unfit = OWN.replace("String(20)", "String(10)").replace('"Int32"', '"Date"')
    refused = command.error(*copying, fresh_database(folders[1], model_of(tmp_path, unfit)))
    assert refused == (
        "comptoir: the catalog of the target does not fit: itemsExt.vendorNumber is Edm.String(10) "
        "and not Edm.String(20); vendors.number is Edm.String(10) and not Edm.String(20); "
        "vendors.payDays is Edm.Date and not Edm.Int32. Nothing is converted. Give the target a "
        "catalog with the same types, keys and alternate keys."
    )


@ON_SQLITE  # the catalogs are compared, not the databases
def test_a_copy_is_refused_where_a_value_may_be_out_of_bounds(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    rated = MORE.replace('"Decimal(18,5)"', '"Decimal(5,0)"').replace('"Int32"', COUNT)
    misfits = {
        ("Decimal(5,0)", "Decimal(6,2)"): "rating is Edm.Decimal(6,2) and not Edm.Decimal(5,0).",
        ("= 90", "= 80"): "payDays is Edm.Int32(Maximum 80) and not Edm.Int32(Maximum 90).",
        (
            'caption = "Name"',
            "code = true",
        ): "name is Edm.String(100,code) and not Edm.String(100).",
    }

    def database(text: str) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return fresh_database(folder, model_of(folder, text))

    here = database(rated)
    command = Command(tmp_path, here)
    for (old, new), misfit in misfits.items():
        problem = command.error("copy", "--from", here, "--to", database(rated.replace(old, new)))
        assert f"vendors.{misfit}" in problem
        assert " Nothing is converted." in problem
    wider = database(rated.replace("maximum = 90", "maximum = 100"))
    command.done("copy", "--from", here, "--to", wider)
