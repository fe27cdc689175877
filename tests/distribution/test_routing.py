"""Every statement on PostgreSQL reads and writes one company, so that Citus can route it."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import pytest

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.edm.overlay import overlaid
from comptoir.features.notifications.subscriptions import (
    DeliveryCursor,
    Subscription,
    Subscriptions,
    new_id,
)
from comptoir.features.notifications.tables import tally, undelivered_times, waiting_lanes
from comptoir.profiles.record import DECLARED, FieldOptions, NamedOptions, TableRule
from comptoir.profiles.record import Values as Overlay
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.prepared import BulkQuery, Prepared, Query, StatementCache
from comptoir.sql.statements import Statements, statements_of
from comptoir.sql.tables import COMPANY_ID, control_tables
from comptoir.store.company_steps import rebuild_json
from comptoir.store.postgres import store as postgres_store
from comptoir.store.postgres.writer import ARRAY_ROWS
from distribution.own_sets import write_own
from postgres.conftest import locks_held
from support.batches import send_documents
from support.client import encoded, record
from support.command import Command
from support.companies import Company
from support.corpus import cases
from support.databases import run_sql
from support.history import changes, of_record
from support.mirror import Mirror
from support.postgres_proxy import StatementProxy, Values, looks_a_type_up
from support.repeats import repeatable
from support.replay import ask, load_data
from support.samples import PATHS, SAMPLES, WRITABLE
from support.service import Service
from support.shards import ACROSS_COMPANIES, SHARDS, errors, may_cross
from support.stores import opened

CONTROL = control_tables().tables.keys()
"""The control tables, which stay on one node."""

MANY = 2 * ARRAY_ROWS
"""A number of rows that one statement inserts or updates."""

LINKS = Overlay(
    {
        "itemsExt": TableRule(1, "Item", "a test", {}),
        "itemTranslationsExt": TableRule(
            2,
            "Translation",
            "a test",
            {
                "itemNo": FieldOptions(
                    caption="Item",
                    names=NamedOptions(
                        set="itemsExt", by="number", when={"description2": "linked"}
                    ),
                )
            },
        ),
        "unitsOfMeasureExt": TableRule(
            3, "Unit", "a test", {}, used_in=(("itemsExt", "baseUnitOfMeasureCode"),)
        ),
    }
)
"""References that some records must have, as profiles add them."""


@dataclass(frozen=True)
class Heard:
    """The executed statements, and the builders of statements over records."""

    run: Mapping[str, Sequence[Values]]
    builders: Statements


@pytest.fixture(scope="module")
def linked(model: Model) -> Model:
    return overlaid(model, LINKS, DECLARED)


@pytest.fixture(scope="module")
def heard(sharded: str, linked: Model, tmp_path_factory: pytest.TempPathFactory) -> Heard:
    """The statements of the whole corpus, of all writes and of all commands."""
    folder = tmp_path_factory.mktemp("heard")
    builders = statements_of(linked, POSTGRESQL)
    with StatementProxy(sharded) as proxy, pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres_store, "statements_of", lambda *_: builders)
        with Service(lambda *_: proxy.url, folder, linked) as service:
            replay(service)
            search(service)
            write(service)
            write_linked(service)
            write_own(service, linked)
        command(folder, proxy.url)
    return Heard(proxy.statements, builders)


def replay(service: Service) -> None:
    company = service.new_company("Corpus")
    load_data(company)
    client = service.client
    answers = [ask(case, company, client) for case in cases()]
    assert {each.status_code for each in answers} < set(range(200, 429)) | {501}
    counted = {"$apply": "groupby((type))", "$count": "true"}
    assert company.get("contactsExt", encoded(counted)).json()["@odata.count"] > 1


def search(service: Service) -> None:
    """Search indexed, changed and deleted records."""
    company = service.new_company()
    for resource, sample in SAMPLES.items():
        company.load(resource, sample)
        company.catch_up(resource)
        company.load(resource, sample)
        company.search_lag(resource)
        assert company.get(resource, "$search=desk").status_code == 200
    company.delete(PATHS["contactsExt"], "*")
    company.catch_up("contactsExt")


def write_linked(service: Service) -> None:
    """Write a record whose item must exist, and delete a unit that an item might use."""
    company = service.new_company()
    assert company.post("unitsOfMeasureExt", {"code": "PCS"}, {"If-Match": "*"}).status_code == 201
    item = {"number": "I", "baseUnitOfMeasureCode": "PCS"}
    assert company.post("itemsExt", item).status_code == 201
    translation = {"itemNo": "none", "languageCode": "ENU", "description2": "linked"}
    assert company.post("itemTranslationsExt", translation).status_code == 400
    assert company.delete("unitsOfMeasureExt('PCS')", "*").status_code == 400


def write(service: Service) -> None:
    """Write by key, unique rule and navigation, in groups, and repeated."""
    company = service.new_company()
    mirror = Mirror(company, "contactsExt")
    for resource in WRITABLE:
        path, body = PATHS[resource], SAMPLES[resource]
        for _ in range(2):
            created = company.post(resource, body, repeatable(If_Match="*"))
        assert created.status_code in (201, 409), created.text
        others = {name: "other" for name, value in body.items() if value == "1896-S"}
        assert company.patch(path, others, "*", repeatable()).status_code == 200
        assert company.put(path, body, "*").status_code == 200
        assert company.delete(path, "*").status_code == 204
    agents = [{"code": code} for code in ("A", "B")]
    for agent in agents:
        company.post("shippingAgentsExt", agent)
    by_rule = "shippingAgentsExt(code='A')"
    assert company.patch(by_rule, {"name": "One"}, "*").status_code == 200
    assert company.patch(by_rule, {"code": "B"}, "*").status_code == 409
    requests = [
        {"id": str(number), "method": "POST", "url": "contactsExt", "body": body}
        | {"atomicityGroup": "all"}
        for number, body in enumerate(
            (
                {"displayName": "Firm", "number": "F", "type": "Company", "companyNumber": "F"},
                {"displayName": "Person", "number": "P", "companyNumber": "F"},
            )
        )
    ]
    assert send_documents(company, requests).status_code == 200
    company.load("contactsExt", {"number": "Q", "displayName": "Loaded", "companyNumber": "F"})
    assert company.record("contactsExt(number='Q')")["companyName"] == "Firm"
    assert company.patch("contactsExt(number='P')/company", {"city": "Graz"}, "*").is_success
    assert record(company.post("itemAttributesExt", {"name": "Depth"}), 201)["attributeId"] == 1
    mirror.catch_up()
    assert mirror.records == mirror.mirrored(company.listed("contactsExt"))
    assert company.changes()
    read_history(company, str(company.record(by_rule)["id"]))


def read_history(company: Company, agent: str) -> None:
    """Read the history of a company and of a record, and trim it."""
    query = {**of_record("shippingAgentsExt", agent), "$top": "1"}
    found = [changes(company), changes(company, "entitySet=itemsExt"), changes(company, query)]
    assert all(found)
    company.admin.trim_logs(history_days=0)
    assert [each.before for each in changes(company, query)] == [None]


def command(folder: Path, url: str) -> None:
    """Copy a company to the database and another one back, and delete them, as commands do."""
    here = Command.without_database(folder)
    beside = f"sqlite:///{here.database}"
    files = folder / "in"
    files.mkdir()
    (files / "itemTranslationsExt.csv").write_text("itemNo,languageCode\n1,DEU\n2,DEU\n")
    here.done("migrate")
    for database, other in ((url, beside), (beside, url)):
        at = ("--database", database)
        company_id = here.done("company", "create", f"In {database}", *at).last_word
        here.done("company", "rename", company_id, f"Of {database}", *at)
        of_company = ("--company", company_id)
        for name in ("One", "Two"):
            lines = ["number,displayName", *(f"{number},{name}" for number in range(MANY))]
            (files / "itemsExt.csv").write_text("\n".join(lines))
            here.done("load", *of_company, *at, files)
        asyncio.run(rebuilt(database, company_id))
        here.done("dump", *of_company, *at, folder / company_id)
        assert "itemsExt" in here.done("changes", *of_company, *at).out
        assert company_id in here.done("company", "list", *at).out
        here.done("copy", *of_company, "--from", database, "--to", other)
        here.done("company", "delete", company_id, "--yes", *at)
        here.done("client", "add", "webshop", "--scope", "admin", *at)
        assert "webshop" in here.done("client", "list", *at).out
        here.done("client", "disable", "webshop", *at)
        here.done("client", "remove", "webshop", *at)


async def rebuilt(database: str, company_id: str) -> None:
    """Rebuild JSON as `migrate --rebuild-json` does, which also looks at the whole schema."""
    async with opened(Settings(database=database)) as store:
        assert await rebuild_json(store, company_id, "itemsExt", lambda *_: None) == MANY
        await subscribed(Subscriptions(store), company_id)


async def subscribed(subscriptions: Subscriptions, company_id: str) -> None:
    """Add, renew, deliver and delete a subscription."""
    act = Act(Actor("tests"), ActName.SUBSCRIPTION_ADD, "one")
    state = ("owner", "https://example.com", "itemsExt", "items", "", 1, 2**40, "", "")
    one = Subscription(new_id(company_id), *state)
    await subscriptions.add(one, act, lambda _: None)
    renewed = msgspec.structs.replace(one, version=2)
    assert await subscriptions.change(one, renewed, act)
    assert await subscriptions.find(one.id) == renewed
    assert await subscriptions.of_company(company_id) == [renewed]
    lane = DeliveryCursor(one.id, 0, (await subscriptions.lease(company_id, [], "", 0))[1])
    leased, _ = await subscriptions.lease(company_id, [lane], "me", 0)
    assert await subscriptions.settle(company_id, [(leased[one.id], lane)]) == []
    assert await subscriptions.settle(company_id, [(lane, None)]) == [one.id]


def held(thing: object, name: str = "") -> Iterator[tuple[str, Prepared | StatementCache[object]]]:
    """The prepared statements of an object, and its caches of statements built on demand."""
    if isinstance(thing, Prepared | StatementCache):
        yield name, thing
    elif isinstance(thing, Mapping):
        for each in thing.values():
            yield from held(each, name)
    elif isinstance(thing, tuple):
        for each in thing:
            yield from held(each, name)
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from held(getattr(thing, field.name), f"{name}.{field.name}")
    elif type(thing).__module__.startswith(("comptoir.sql", "comptoir.features")) and hasattr(
        thing, "__dict__"
    ):
        declared = vars(type(thing)).items()
        built = {inner for inner, each in declared if isinstance(each, cached_property)}
        # only tables of records have JSON
        built.discard("_write_json")
        for inner in dict.fromkeys([*vars(thing), *built]):
            yield from held(getattr(thing, inner), f"{name}.{inner}")


def test_every_executed_statement_is_routed_by_the_company(
    heard: Heard, sharded: str, model: Model
) -> None:
    of_control = {text for text in heard.run if tables_of(text) & CONTROL}
    assert len(of_control) > 10
    assert {name for text in of_control for name in tables_of(text)} <= CONTROL
    of_records = {text: values for text, values in heard.run.items() if text not in of_control}
    found = errors(sharded, of_records)
    unrouted = [f"{each.reason}: {text}" for text, each in found.items() if not may_cross(each)]
    assert not unrouted, "\n\n".join(unrouted)
    assert {table for each in found.values() for table in each.tables} == set(ACROSS_COMPANIES)
    assert len(heard.run) > 600
    assert {each.name for each in model.stored} <= {
        name for text in of_records for name in tables_of(text)
    }


def tables_of(text: str) -> set[str]:
    """The names of the tables of a statement."""
    return set(re.findall(r'(?:FROM|INTO|UPDATE|JOIN|COPY) "?(\w+)', text))


def test_every_prepared_statement_is_routed_by_the_company(sharded: str, linked: Model) -> None:
    """Including statements that no scenario runs."""
    statements = statements_of(linked, POSTGRESQL)
    assert statements.company_rows.tables, "compiled when a first table is copied"
    assert statements.company_rows.removals, "compiled when a first table is dropped"
    texts = [each.text for _, each in held(statements) if isinstance(each, Prepared)]
    texts += [each(statements).text for each in (tally, undelivered_times, waiting_lanes)]
    texts += [each.text for each in over_rows(statements)]
    assert len(texts) > 100
    found = errors(sharded, {each: [] for each in texts})
    assert not found, "\n\n".join(f"{each.reason}: {text}" for text, each in found.items())


def over_rows(statements: Statements) -> Iterator[Query]:
    """The statements of copies and deletions over each table."""
    for each in statements.company_rows.removals.values():
        yield from (each.rows("1"), each.rows("1", ("1",) * len(each.key)))
        yield from (each.first("1", 1), each.last("1"), each.count("1"))


def test_the_scenarios_use_every_builder_of_statements(heard: Heard) -> None:
    """An unused builder could build unroutable statements."""
    kept = [(name, each) for name, each in held(heard.builders) if isinstance(each, StatementCache)]
    assert len(kept) > 8
    assert [name for name, each in kept if not each] == []
    built = [prepared.bulk for _, each in kept for prepared in each.values()]
    at_once = {each.text for each in built if isinstance(each, BulkQuery)}
    assert at_once & heard.run.keys()
    assert any(text.startswith("COPY") for text in heard.run)


def test_no_type_is_looked_up_in_the_catalog(heard: Heard) -> None:
    assert [text for text in heard.run if looks_a_type_up(text)] == []


def test_the_distribution_columns_have_one_type(sharded: str) -> None:
    """Citus cannot colocate tables whose columns have different types or collations."""
    types = run_sql(
        sharded,
        "SELECT DISTINCT atttypid::regtype::TEXT, attcollation::regcollation::TEXT"
        " FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
        " WHERE attname = :name AND relkind IN ('r', 'p')",
        name=COMPANY_ID,
    )
    assert types == [("character varying", '"C"')]


def test_readiness_reads_no_company(sharded: str, model: Model, tmp_path: Path) -> None:
    """A failed worker of Citus must not make all hosts unready; a lock simulates the failure."""
    locks = [f'LOCK TABLE "companies__{number}"' for number in range(SHARDS)]
    with Service(lambda *_: sharded, tmp_path, model) as service:
        assert service.origin.get("readyz").status_code == 200
        with locks_held(sharded, ";".join(locks)):
            assert service.origin.get("readyz").text == "ready\n"
