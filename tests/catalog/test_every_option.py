"""What the API promises of each set is true of every catalog: the built-in one, and one with
every option and every type, which is tried on every database."""

import operator
import pickle
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import urlencode
from uuid import uuid4

import msgspec
import pytest

from comptoir.auth.records import ConsoleRole
from comptoir.catalog import MODEL
from comptoir.catalog.building import TYPES
from comptoir.catalog.options import (
    ActionOptions,
    FileOptions,
    NavigationOptions,
    PropertyOptions,
    SetOptions,
    TableOptions,
)
from comptoir.edm.model import EntitySet, Model, NavigationProperty, Property
from comptoir.edm.types import CodeText, PrimitiveType, Stored
from comptoir.profiles.record import FieldOptions
from support.batches import documents
from support.client import Query, Record, page, pages, record, tag_of, values
from support.command import Command
from support.companies import Company
from support.console import logged_in
from support.contract import without_control
from support.databases import FRESH
from support.refusals import refusal
from support.roles import tokens_of_roles
from support.service import Service
from support.subjects import (
    EVERY_OPTION,
    address,
    compared,
    every_option,
    guard,
    literal,
    samples,
    sent,
    stored,
    wire,
)
from support.together import check_all

COUNT = 7
COMPARED: Mapping[str, Callable[[Stored, Stored], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
MODELS: Mapping[str, Callable[[], Model]] = {
    "built-in": lambda: MODEL,
    "every-option": every_option,
}
SUBJECTS = (("built-in", "sqlite"), *(("every-option", each) for each in FRESH))


@dataclass(frozen=True)
class Subject:
    """A service with a catalog, and a company with records of each set, which stays as it is."""

    model: Model
    service: Service
    company: Company
    loaded: Mapping[str, list[Record]]
    records: Mapping[str, list[Record]]

    def company_without(self, entity_set: EntitySet) -> Company:
        """A company with four records of each other set."""
        company, rows = self.service.new_company(), samples(self.model, 4)
        others = {name: each for name, each in rows.items() if name != entity_set.name}
        company.admin.load_all(company.stored, others)
        return company

    @property
    def writable(self) -> Iterator[EntitySet]:
        return (each for each in self.model.stored if not each.read_only)

    def each(self, check: Callable[[EntitySet], None], sets: Iterable[EntitySet] = ()) -> None:
        """Check each stored set, or each of some."""
        check_all(sets or self.model.stored, check, lambda each: each.name)


@pytest.fixture(scope="module", params=SUBJECTS, ids="-".join)
def subject(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    catalog, database = request.param
    model, fresh = MODELS[catalog](), request.getfixturevalue(f"fresh_{database}")
    with Service(fresh, tmp_path_factory.mktemp("subject"), model) as service:
        company, loaded = service.new_company(), samples(model, COUNT)
        company.admin.load_all(company.stored, loaded)
        records = {each.name: company.listed(each.name) for each in model.stored}
        yield Subject(model, service, company, loaded, records)


def unique(entity_set: EntitySet, values_of: Record) -> Record:
    """Values without those that identify a record."""
    names = {name for rule in entity_set.type.unique for name in rule.properties}
    return {name: value for name, value in values_of.items() if name not in names}


def shown_names(entity_set: EntitySet) -> list[str]:
    """The properties that records have in responses."""
    return [each.name for each in entity_set.type.properties if not each.is_stream]


def listed(company: Company, path: str, query: Query) -> list[dict[str, object]]:
    """The objects on one page."""
    response = company.get(path, query)
    assert response.status_code == 200, response.text
    found: list[dict[str, object]] = response.json()["value"]
    return found


def ordered(entity_set: EntitySet, found: Iterable[Record], *names: str) -> list[Record]:
    """Records in the order of properties, and then of the key."""
    types = [(name, entity_set.type.by_name[name].type) for name in (*names, entity_set.type.key)]
    return sorted(found, key=lambda each: [stored(kind, each[name]) for name, kind in types])


def related(
    subject: Subject, entity_set: EntitySet, navigation: NavigationProperty, found: Record
) -> list[Record]:
    """The records to which a navigation property leads."""
    target = subject.model.by_name[navigation.target]
    own, other = navigation.on
    return [
        each
        for each in subject.records[target.name]
        if found[own] and each[other] == found[own]
        if all(
            stored(target.type.by_name[name].type, each[name]) == value
            for name, value in navigation.only.items()
        )
    ]


def test_the_catalog_has_every_option_and_type() -> None:
    """If this fails, add what is missing to the file, and what it means to the tests here."""
    file = tomllib.loads(EVERY_OPTION.read_text(encoding="utf-8"))
    sets = list(file["sets"].values())
    properties = [each for one in sets for each in one["properties"].values()]
    declared = [each for each in properties if isinstance(each, dict)]
    tables = [one["business_central"] for one in sets if "business_central" in one]
    fields = [each for one in tables for each in one["properties"].values()]
    navigation = [each for one in sets for each in one.get("navigation", {}).values()]
    actions = [each for one in sets for each in one.get("actions", {}).values()]
    for options, found in (
        (FileOptions, [file]),
        (SetOptions, sets),
        (PropertyOptions, declared),
        (NavigationOptions, navigation),
        (ActionOptions, actions),
        (TableOptions, tables),
        (FieldOptions, fields),
    ):
        known = {each.name for each in msgspec.structs.fields(options)}
        assert known - {name for each in found for name in each} - {"base", "source"} == set()
    types = {each if isinstance(each, str) else each["type"] for each in properties}
    assert TYPES.keys() - types == set()


def test_records_are_listed_as_they_were_loaded(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        found = subject.records[entity_set.name]
        set_by_service = {each.target for each in entity_set.type.derivations}
        names = [
            each.name
            for each in entity_set.type.properties
            if not (each.is_computed or each.is_stream or each.name in set_by_service)
        ]
        shown = [{name: each[name] for name in names} for each in found]
        wanted = [{name: each[name] for name in names} for each in subject.loaded[entity_set.name]]
        assert shown == ordered(entity_set, wanted)
        assert list(without_control(found[0])) == shown_names(entity_set)
        for each in found:
            assert record(subject.company.get(address(entity_set, each))).items() >= each.items()

    subject.each(check)


def test_properties_of_each_type_are_compared_with_each_operator(subject: Subject) -> None:
    """The first property of a type with each operator, and every property with `eq` and `in`."""
    tried: set[type[PrimitiveType]] = set()

    def check(entity_set: EntitySet, each: Property) -> None:
        found = subject.records[entity_set.name]
        names = ("eq",) if type(each.type) in tried else tuple(COMPARED)
        tried.add(type(each.type))
        for chosen in {found[0][each.name], found[3][each.name]}:
            value = stored(each.type, chosen)
            conditions = {
                f"{each.name} {name} {literal(each.type, chosen)}": COMPARED[name] for name in names
            }
            conditions[f"{each.name} in ({literal(each.type, chosen)})"] = operator.eq
            for condition, holds in conditions.items():
                wanted = [one for one in found if holds(stored(each.type, one[each.name]), value)]
                query = {"$filter": condition, "$count": "true"}
                filtered = page(subject.company.get(entity_set.name, query))
                assert (filtered.value, filtered.count) == (wanted, len(wanted)), condition

    check_all(
        [(one, each) for one in subject.model.stored for each in compared(one)],
        lambda case: check(*case),
        lambda case: f"{case[0].name}.{case[1].name}",
    )


def test_secrets_are_not_queried(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        for name in entity_set.type.unqueried:
            for query in ({"$filter": f"{name} eq 'x'"}, {"$orderby": name}):
                assert subject.company.get(entity_set.name, query).status_code == 400

    subject.each(check)


def test_records_are_sorted_and_paged_by_each_type(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        found = subject.records[entity_set.name]
        for each in compared(entity_set):
            if each.is_unlimited:
                continue
            wanted = ordered(entity_set, found, each.name)
            for order, expected in (each.name, wanted), (f"{each.name} desc", wanted[::-1]):
                read = pages(subject.company, entity_set.name, {"$orderby": order}, 3)
                assert [one for some in read for one in some] == expected

    subject.each(check)


def test_each_property_is_selected_and_read_alone(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        found = subject.records[entity_set.name]
        for each in entity_set.type.properties:
            if each.is_stream:
                continue
            selected = values(subject.company.get(entity_set.name, {"$select": each.name}))
            assert [one[each.name] for one in selected] == [one[each.name] for one in found]
            assert set(without_control(selected[0])) == {each.name}
            path = f"{address(entity_set, found[1])}/{each.name}"
            assert subject.company.get(path).json()["value"] == found[1][each.name]

    subject.each(check)


def test_each_navigation_property_leads_to_its_records(subject: Subject) -> None:
    def check(entity_set: EntitySet, each: NavigationProperty) -> None:
        expanded = listed(subject.company, entity_set.name, {"$expand": each.name})
        target, led = subject.model.by_name[each.target], 0
        for one, found in zip(subject.records[entity_set.name], expanded, strict=True):
            wanted = ordered(target, related(subject, entity_set, each, one))
            led += len(wanted)
            path = f"{address(entity_set, one)}/{each.name}"
            if each.collection:
                assert found[each.name] == wanted
                assert values(subject.company.get(path)) == wanted
                assert subject.company.get(f"{path}/$count").text == str(len(wanted))
            else:
                assert found[each.name] == (wanted[0] if wanted else None)
                assert subject.company.get(path).status_code == (200 if wanted else 204)
        assert led

    check_all(
        [(one, each) for one in subject.model.stored for each in one.type.navigation],
        lambda case: check(*case),
        lambda case: f"{case[0].name}/{case[1].name}",
    )


def test_a_navigation_property_without_pairs_is_declared_and_refused_by_name(
    subject: Subject,
) -> None:
    company, document = subject.company, subject.service.client.get("$metadata").text

    def check(entity_set: EntitySet, each: NavigationProperty) -> None:
        assert f'<NavigationProperty Name="{each.name}"' in document
        path = address(entity_set, subject.records[entity_set.name][1])
        inner = f"{each.name}/any()" if each.collection else f"{each.name}/{entity_set.type.key}"
        compared = inner if each.collection else f"{inner} eq null"
        for at, query in (
            (f"{path}/{each.name}", {}),
            (f"{path}/{each.name}/$count", {}),
            (f"{path}/{each.name}({uuid4()})", {}),
            (path, {"$expand": each.name}),
            (path, {"$select": f"{entity_set.type.key},{each.name}"}),
            (entity_set.name, {"$expand": f"{each.name}($select=id)"}),
            (entity_set.name, {"$filter": compared}),
            (entity_set.name, {"$orderby": f"{each.name}/$count"}),
            (entity_set.name, {"$compute": f"{inner} as one"}),
            (entity_set.name, {"$apply": f"groupby(({each.name}/{entity_set.type.key}))"}),
        ):
            refused = refusal(company.get(at, query), "BadRequest_MethodNotImplemented")
            assert f"{entity_set.type.name}/{each.name} is not supported" in refused.message, query
            assert "Ask the operator to add `on` to it in the catalog." in refused.message
        written = company.patch(path, {each.name: []}, "*")
        assert each.name in refusal(written, "BadRequest_MethodNotImplemented").message
        assert each.name not in listed(company, entity_set.name, {"$expand": "*"})[1]

    check_all(
        [(one, each) for one in subject.model.stored for each in one.type.unserved.values()],
        lambda case: check(*case),
        lambda case: f"{case[0].name}/{case[1].name}",
    )


def test_records_are_found_by_their_alternate_keys(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        for rule in entity_set.type.unique:
            for each in subject.records[entity_set.name]:
                found = subject.company.get(address(entity_set, each, *rule.properties))
                assert record(found).items() >= each.items()

    subject.each(check)


def test_records_are_searched_and_grouped(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        name, found = entity_set.name, subject.records[entity_set.name]
        searched = entity_set.type.searched
        wanted = [
            one
            for one in found
            if any("4ß".casefold() in str(one[each]).casefold() for each in searched)
        ]
        assert values(subject.company.get(name, {"$search": '"4ß"'})) == wanted
        for each in entity_set.type.properties:
            if each.is_queried and not each.is_unlimited:
                apply = f"groupby(({each.name}),aggregate($count as total))"
                grouped = listed(subject.company, name, {"$apply": apply})
                assert {one[each.name]: one["total"] for one in grouped} == Counter(
                    one[each.name] for one in found
                )

    subject.each(check)


def test_a_view_shows_the_records_of_its_base(subject: Subject) -> None:
    views = [each for each in subject.model.per_company if each.view is not None]

    def check(entity_set: EntitySet) -> None:
        assert entity_set.view is not None
        columns, base = entity_set.view.columns, subject.records[entity_set.view.base]
        shown = values(subject.company.get(entity_set.name))
        assert [without_control(each) for each in shown] == ordered(
            entity_set, [{name: each[column] for name, column in columns.items()} for each in base]
        )
        if entity_set.pair_filter is not None:
            pairs = entity_set.pair_filter
            query = {"$filter": f"{pairs.name}1 eq 'none'"}
            assert values(subject.company.get(entity_set.name, query)) == []

    subject.each(check, views)


def test_a_record_is_created_updated_replaced_and_deleted(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        company = subject.company_without(entity_set)
        first, second = samples(subject.model, 4)[entity_set.name][2:]
        body = sent(entity_set, first, creating=True)
        created = company.post(entity_set.name, body, guard(entity_set))
        made = record(created, 201)
        assert made.items() >= body.items()
        assert list(without_control(made)) == shown_names(entity_set)
        path = address(entity_set, made)
        assert company.post(entity_set.name, body, guard(entity_set)).status_code in (409, 412)
        changes = sent(entity_set, second, creating=False)
        for name, value in changes.items():
            before = tag_of(company.get(path))
            updated = company.patch(path, {name: value}, before)
            assert record(updated)[name] == value
            if value != made[name]:
                refusal(company.patch(path, {name: value}, before), "Request_EntityChanged")
        required = {each.name for each in entity_set.type.required} - {entity_set.type.key}
        least = {name: value for name, value in body.items() if name in required}
        replaced = record(company.put(path, least, tag_of(company.get(path))))
        kept = {entity_set.type.key, *required}
        for each in entity_set.type.properties:
            is_set = entity_set.type.has_computed_default(each) or not each.is_replaced
            if each.name not in kept and not is_set:
                assert replaced[each.name] == wire(each.type, each.initial), each.name
        assert company.delete(path, tag_of(company.get(path))).status_code == 204
        assert company.get(path).status_code == 404

    subject.each(check, list(subject.writable))


def test_a_group_of_a_batch_creates_all_or_nothing(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        company = subject.company_without(entity_set)
        rows = samples(subject.model, 3)[entity_set.name]
        head = {"method": "POST", "url": entity_set.name, "headers": guard(entity_set)}
        bodies = [sent(entity_set, each, creating=True) for each in rows]
        creates = [
            {"id": f"{number}", "atomicityGroup": "all", **head, "body": body}
            for number, body in enumerate(bodies)
        ]
        twice = {**creates[0], "id": "twice"}
        failed = documents(company, *creates, twice)
        assert [each for each in failed.values() if each.status < 400] == []
        assert company.listed(entity_set.name) == []
        listing = {"id": "list", "method": "GET", "url": entity_set.name, "dependsOn": ["all"]}
        done = documents(company, *creates, listing)
        assert [each.status for each in done.values()] == [201, 201, 201, 200]
        assert len(done["list"].read(dict[str, msgspec.Raw])["value"]) > 2

    subject.each(check, list(subject.writable))


def test_codes_are_compared_in_any_spelling(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        for each in entity_set.type.properties:
            if isinstance(each.type, CodeText):
                found = subject.records[entity_set.name][3]
                text = f"' {str(found[each.name]).lower()} '"
                for query in (f"{each.name} eq {text}", f"{each.name} in ({text},'none')"):
                    asked = {"$filter": query}
                    assert values(subject.company.get(entity_set.name, asked)) == [found]

    subject.each(check)


def test_contained_records_are_created_at_the_address_of_their_record(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        for each in entity_set.type.navigation:
            if each.contained:
                target = subject.model.by_name[each.target]
                company = subject.company_without(target)
                owner = company.listed(entity_set.name)[1]
                body = sent(target, samples(subject.model, 2)[target.name][1], creating=True)
                body.pop(each.on[1])
                path = f"{address(entity_set, owner)}/{each.name}"
                made = record(company.post(path, body, guard(target)), 201)
                assert made[each.on[1]] == owner[each.on[0]]
                assert company.delete(address(entity_set, owner), "*").status_code == 204
                assert company.listed(target.name) == []

    subject.each(check)


def test_actions_change_what_they_declare(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        company, by_name = subject.company_without(subject.model.companies), entity_set.type.by_name
        path = address(entity_set, subject.loaded[entity_set.name][2])
        for each in entity_set.type.actions:
            before = company.record(path)
            acted = company.request("POST", f"{path}/{subject.model.namespace}.{each.name}")
            assert acted.status_code == (204 if each.change else 501)
            wanted = {name: wire(by_name[name].type, value) for name, value in each.change.items()}
            assert company.record(path).items() >= wanted.items()
            assert (company.record(path) == before) is not bool(each.change)

    subject.each(check)


def test_a_delta_link_leads_to_what_has_changed(subject: Subject) -> None:
    def check(entity_set: EntitySet) -> None:
        company = subject.company_without(entity_set)
        company.load(entity_set.name, *samples(subject.model, 3)[entity_set.name])
        tracked = company.get(entity_set.name, headers={"Prefer": "odata.track-changes"}).json()
        first, second, third = tracked["value"]
        assert company.delete(address(entity_set, second), "*").status_code == 204
        changes = sent(entity_set, third, creating=False)
        changed = record(
            company.patch(address(entity_set, first), unique(entity_set, changes), "*")
        )
        reported = company.follow(tracked["@odata.deltaLink"]).json()["value"]
        (removed,) = [each for each in reported if "reason" in each]
        (kept,) = [each for each in reported if "reason" not in each]
        assert removed["id"].endswith(f"/{address(entity_set, second)}")
        assert kept.items() >= without_control(changed).items()

    subject.each(check, list(subject.writable))


def test_a_role_allows_what_it_names(subject: Subject) -> None:
    sets = subject.model.stored
    tokens = tokens_of_roles(subject.service, {each.name: {each.name: "R"} for each in sets})
    for each, other in zip(sets, [*sets[1:], sets[0]], strict=True):
        client = subject.company.using(tokens[each.name])
        allowed = [one.name for one in (each, other) if client.get(one.name).is_success]
        assert allowed == [each.name]
        body = sent(each, subject.loaded[each.name][0], creating=True)
        assert client.post(each.name, body).status_code == (405 if each.read_only else 403)


def test_the_console_lists_each_set(subject: Subject) -> None:
    browser = logged_in(subject.service, ConsoleRole.VIEWER)

    def check(entity_set: EntitySet) -> None:
        shown = browser.get(f"/console/records/{entity_set.name}?company={subject.company.id}")
        assert shown.status_code == 200
        assert shown.text.count('<th scope="row"') == COUNT

    subject.each(check)


def test_the_console_shows_each_record_and_restores_its_values(subject: Subject) -> None:
    browser, company = logged_in(subject.service, ConsoleRole.EDITOR), subject.service.new_company()
    company.admin.load_all(company.stored, samples(subject.model, 2))

    def check(entity_set: EntitySet) -> None:
        first, second = subject.loaded[entity_set.name][:2]
        path, key = address(entity_set, first), entity_set.type.key
        record = company.record(path)
        query = urlencode({"company": company.id, "key": str(record[key])})
        page = f"/console/records/{entity_set.name}/record"
        assert browser.get(f"{page}?{query}").status_code == 200
        assert browser.get(f"{page}/edit?{query}").status_code == (
            400 if entity_set.read_only else 200
        )
        if entity_set.read_only:
            return
        changes = unique(entity_set, sent(entity_set, second, creating=False))
        assert company.patch(path, changes, "*").status_code == 200
        number = company.changes()[-1].number
        history = browser.get(
            f"/console/changes?{query}&entitySet={entity_set.name}&record={record[key]}"
        )
        assert f"number={number}" in unescape(history.text)
        restored = browser.post(f"{page}/restore?{query}&number={number}", {})
        assert "were restored" in browser.follow(restored).text
        now, secrets = company.record(path), set(entity_set.type.unqueried)
        kept = changes.keys() - secrets
        assert {name: now[name] for name in kept} == {name: record[name] for name in kept}

    subject.each(check)


def test_dumped_files_load_back(subject: Subject, tmp_path: Path) -> None:
    command = Command(tmp_path, subject.service.settings.database)
    other = subject.service.new_company()
    for form in ("ndjson", "csv"):
        first, second = tmp_path / form, tmp_path / f"{form}-again"
        command.done("dump", "--company", subject.company.id, "--format", form, first)
        command.done("load", "--company", other.id, *sorted(first.iterdir()))
        command.done("dump", "--company", other.id, "--format", form, second)
        for file in first.iterdir():
            assert (second / file.name).read_bytes() == file.read_bytes(), file.name


def test_a_process_that_is_not_a_copy_gets_the_same_catalog() -> None:
    for model in (MODEL, every_option()):
        received = pickle.loads(pickle.dumps(model))
        assert received.source == model.source
        assert list(received.by_name) == list(model.by_name)
