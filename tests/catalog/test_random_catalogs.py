"""A random catalog builds, its records round trip, and additions to it change nothing else."""

from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict
from uuid import uuid4

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from comptoir.catalog import MODEL, accepted_model
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.store.growth import changes
from comptoir.store.migration import migrate
from metadata.reading import EDM, container, json, xml
from support.client import record
from support.command import Command
from support.companies import Company
from support.databases import FreshDatabase, differences
from support.effort import examples
from support.service import Service
from support.subjects import address, guard, samples, sent


class Declared(TypedDict):
    """The options of an entity set."""

    type: str
    key: str
    properties: dict[str, object]
    unique: list[list[str]]
    indexes: list[list[str]]
    read_only: bool
    create_guarded: bool


class Content(TypedDict):
    """The content of a file."""

    comptoir: int
    base: str
    sets: dict[str, Declared]
    enums: dict[str, list[str]]


# words of SQL and of OData are names like any others
NAMES = ("order", "select", "value", "group", "table", "_x", "filter", "user", "a", "z9")
MEMBERS = (*NAMES, "größe", "編號", "G/L Account")
TYPES = st.sampled_from([
    "String", "String(1)", "String(20)", "String(100)", "String(101)", "Guid", "Boolean", "Int32",
    "Decimal(18,5)", "Decimal(4,0)", "Date", "DateTimeOffset", "Base64", "Level",
])  # fmt: skip
IDENTIFYING = ("String(20)", "String(100)", "Guid", "Int32")


@st.composite
def sets(draw: st.DrawFn, name: str) -> Declared:
    """An entity set with a key and some rules."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
    properties: dict[str, object] = {each: draw(TYPES) for each in names}
    rule = draw(st.lists(st.sampled_from(["rule", "other"]), unique=True))
    properties |= {each: draw(st.sampled_from(IDENTIFYING)) for each in rule}
    key = draw(st.sampled_from(["id", "key"]))
    key_type = "Guid" if key == "id" else draw(st.sampled_from(IDENTIFYING))
    properties[key] = {"type": key_type, "required": key != "id"}
    if draw(st.booleans()):
        properties["changedAt"] = {"type": "DateTimeOffset", "modified_at": True}
    indexed = st.lists(st.sampled_from(list(properties)), min_size=1, max_size=2, unique=True)
    return {
        "type": f"{name}Type",
        "key": key,
        "properties": properties,
        "unique": [rule] if rule else [],
        "indexes": draw(st.lists(indexed, max_size=2)),
        "read_only": draw(st.booleans()),
        "create_guarded": draw(st.booleans()),
    }


@st.composite
def catalogs(draw: st.DrawFn) -> Content:
    """The content of a file that adds some sets to the built-in ones."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    members = draw(st.lists(st.sampled_from(MEMBERS), min_size=2, max_size=4, unique=True))
    return {
        "comptoir": 1,
        "base": "built-in",
        "sets": {name: draw(sets(name)) for name in names},
        "enums": {"Level": members},
    }


@st.composite
def additions(draw: st.DrawFn, content: Content) -> Content:
    """A larger catalog."""
    larger = deepcopy(content)
    larger["sets"]["later"] = draw(sets("later"))
    larger["enums"]["Level"].append("Platinum")
    for each in larger["sets"].values():
        each["properties"] |= {f"new{n}": draw(TYPES) for n in range(draw(st.integers(0, 2)))}
        each["indexes"].append([draw(st.sampled_from(list(each["properties"])))])
        for name, edm_type in each["properties"].items():
            if edm_type in ("String(1)", "String(20)") and draw(st.booleans()):
                each["properties"][name] = "String(100)"
    return larger


def model_of(content: Content) -> Model:
    return accepted_model("random", msgspec.json.encode(content, order="deterministic").decode())


# to make a failing catalog smaller takes minutes
few = settings(
    max_examples=examples(2),
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


@settings(max_examples=examples(6))
@given(st.data())
def test_a_catalog_builds_and_grows(data: st.DataObject) -> None:
    content = data.draw(catalogs())
    larger = data.draw(additions(content))
    for each in (content, larger):
        model = model_of(each)
        declared = {each.get("Name") for each in xml(model=model).iter(f"{EDM}EntitySet")}
        assert declared == model.by_name.keys() <= container(json(model=model)).keys()
    found = changes(model_of(content).source, model_of(larger).source)
    assert found
    assert [each.text for each in found if not each.is_addition] == []


@few
@given(content=catalogs())
def test_records_round_trip(content: Content, fresh_database: FreshDatabase) -> None:
    model, rows = model_of(content), samples(model_of(content), 5)
    with TemporaryDirectory() as folder:
        url = migrated(fresh_database, Path(folder), model)
        with Service(lambda *_: url, Path(folder), model) as service:
            company, loaded = service.new_company(), service.new_company()
            own = [model.by_name[name] for name in content["sets"]]
            for each in own:
                if each.read_only:
                    company.load(each.name, *rows[each.name])
                    continue
                for row in rows[each.name]:
                    body = sent(each, row, creating=True)
                    made = record(company.post(each.name, body, guard(each)), 201)
                    assert made.items() >= body.items()
                    assert company.record(address(each, made)).items() >= made.items()
            files = dumped(url, Path(folder), company)
            command = Command(Path(folder), url)
            command.done("load", "--company", loaded.id, *files)
            assert contents(dumped(url, Path(folder), loaded)) == contents(files)


@few
@given(data=st.data())
def test_an_addition_is_as_if_it_had_been_there(
    data: st.DataObject, fresh_database: FreshDatabase
) -> None:
    content = data.draw(catalogs())
    former, larger = model_of(content), model_of(data.draw(additions(content)))
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        grown = migrated(fresh_database, Path(one), former)
        with Service(lambda *_: grown, Path(one), former) as service:
            company = service.new_company()
            rows = {name: samples(former, 3)[name] for name in content["sets"]}
            company.admin.load_all(company.stored, rows)
        files = dumped(grown, Path(one), company)
        migrate(Settings(database=grown), larger)
        new = migrated(fresh_database, Path(other), larger)
        assert differences(grown, larger) == differences(new, larger) == []
        command = Command(Path(other), new)
        command.done("company", "create", "Other", "--id", company.id)
        command.done("load", "--company", company.id, *files)
        assert contents(dumped(grown, Path(one), company)) == contents(
            dumped(new, Path(other), company)
        )


def migrated(fresh: FreshDatabase, folder: Path, model: Model) -> str:
    """A database that had the built-in catalog first."""
    url = fresh(folder, MODEL)
    migrate(Settings(database=url), model)
    return url


def dumped(url: str, folder: Path, company: Company) -> list[Path]:
    """The files of a company."""
    files = folder / str(uuid4())
    Command(folder, url).done("dump", "--company", company.id, files)
    return sorted(each for each in files.iterdir() if each.stat().st_size)


def contents(files: list[Path]) -> dict[str, str]:
    return {each.name: each.read_text(encoding="utf-8") for each in files}
