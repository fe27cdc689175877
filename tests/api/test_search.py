"""$search: which records contain the terms, whatever has been indexed until then."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet, Model
from comptoir.store.sqlite import reader
from support.client import encoded, record, tag_of
from support.companies import Company
from support.databases import FRESH, ON_SQLITE, FreshDatabase
from support.refusals import refusal
from support.samples import SAMPLES
from support.service import Service, StartService
from support.specimen import SPECIMEN, SPECIMENS, WITH_SPECIMENS
from support.statements import plan_of, traced

Indexing = Callable[[Company, str], None]


def leave(_: Company, __: str) -> None:
    """No record is in the index yet."""


def walk(patch: pytest.MonkeyPatch) -> None:
    """Let searches on SQLite compare the records one by one, as for common words."""
    patch.setattr(reader, "ATTEMPTS", (0.0, inf))
    patch.setattr(reader, "ATTEMPT_STEPS", 1)


@pytest.fixture
def indexing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Indexing:
    """The state of the index before a search, and its way."""
    if "walked" in request.param:
        walk(monkeypatch)
    return leave if "unindexed" in request.param else Company.catch_up


IN_ANY_STATE = pytest.mark.parametrize(
    ("fresh_database", "indexing"),
    [
        *product(FRESH, ["unindexed", "indexed"]),
        *(("sqlite", each) for each in ("walked", "walked unindexed")),
    ],
    indirect=True,
)
"""Marks a test whose searches find the same whatever is indexed, on SQLite in both ways."""


def found(company: Company, text: str, resource: str = "shippingAgentsExt") -> list[str]:
    """The codes of the records that a search finds."""
    return sorted(str(each["code"]) for each in company.listed(resource, {"$search": text}))


def name_agents(company: Company, *names: str) -> None:
    """Shipping agents of these names, their codes being their places."""
    agents = [{"code": str(number), "name": name} for number, name in enumerate(names)]
    company.load("shippingAgentsExt", *agents)


def test_every_text_property_of_every_kind_is_searched(stocked: Company) -> None:
    """And no others: numbers, the secret and encoded texts are not."""
    for entity_set in MODEL.per_company:
        if entity_set.view is not None:
            continue
        sample = SAMPLES[entity_set.name]
        searched = set(entity_set.type.searched)
        assert searched
        for each in entity_set.type.properties:
            value = sample[each.name]
            if not isinstance(value, str) or not value.strip():
                continue
            found = stocked.listed(entity_set.name, {"$search": f'"{value}"'})
            assert len(found) == (each.name in searched), each.name


@IN_ANY_STATE
def test_a_long_result_is_complete_and_sorted(company: Company, indexing: Indexing) -> None:
    company.load("shippingAgentsExt", *({"code": f"{n:04}", "name": "alike"} for n in range(700)))
    indexing(company, "shippingAgentsExt")

    listed = company.listed("shippingAgentsExt", {"$search": "alike", "$orderby": "code"})

    assert [each["code"] for each in listed] == [f"{n:04}" for n in range(700)]


@ON_SQLITE
def test_a_common_word_is_found_in_the_order_of_the_page(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of reading all its records first, then sorting them."""
    company.load("shippingAgentsExt", *({"code": f"{n:04}", "name": "alike"} for n in range(300)))
    company.catch_up("shippingAgentsExt")
    walk(monkeypatch)
    for order, first in (("code desc", "0299"), ("code", "0000")):
        query = encoded({"$search": "alike", "$orderby": order, "$top": "2"})
        with traced() as statements:
            answer = company.get("shippingAgentsExt", query)
        assert answer.json()["value"][0]["code"] == first
        plan = plan_of(statements[-1], company.admin.settings.database)
        assert "search_index" not in plan
        assert "TEMP B-TREE" not in plan


@IN_ANY_STATE
def test_a_view_is_searched_as_its_records_change(company: Company, indexing: Indexing) -> None:
    company.load("itemsExt", {"number": "D1", "displayName": "Desk"})
    indexing(company, "itemsExt")
    indexing(company, "filteredItemAttributesExt")
    company.patch("itemsExt(number='D1')", {"displayName": "Bank"}, if_match="*")

    for text, count in (("desk", 0), ("bank", 1)):
        assert len(company.listed("filteredItemAttributesExt", {"$search": text})) == count


def test_the_companies_are_searched(service: Service) -> None:
    name = "Käthe & Töchter 7d1c"
    company = service.new_company(name)

    listed = service.client.listed("companies", {"$search": "KÄTHE 7D1C"})

    assert [(each["id"], each["name"]) for each in listed] == [(company.id, name)]
    other = service.client.using(service.tokens.issue(companies=[service.new_company().id]))
    assert other.listed("companies", {"$search": "7d1c"}) == []


@IN_ANY_STATE
def test_a_search_stays_within_its_company(service: Service, indexing: Indexing) -> None:
    companies = [service.new_company() for _ in range(3)]
    for number, company in enumerate(companies):
        company.load("shippingAgentsExt", {"code": f"common {number}", "name": f"own{number}"})
        company.load("unitsOfMeasureExt", {"code": f"common {number}", "displayName": "unit"})
        indexing(company, "shippingAgentsExt")
        indexing(company, "unitsOfMeasureExt")

    for number, company in enumerate(companies):
        assert found(company, "common") == [f"common {number}"]
        assert found(company, "own0 OR own1 OR own2") == [f"common {number}"]
        assert found(company, "unit OR common", "unitsOfMeasureExt") == [f"common {number}"]


@IN_ANY_STATE
def test_acknowledged_writes_are_found_at_once(company: Company, indexing: Indexing) -> None:
    """Creates, updates and deletes, one after another."""
    name_agents(company, "first")
    indexing(company, "shippingAgentsExt")
    created = company.post("shippingAgentsExt", {"code": "new", "name": "second"})
    path = f"shippingAgentsExt({record(created, 201)['id']})"
    assert found(company, "second") == ["new"]

    for old, name in (("second", "third"), ("third", "fourth")):
        updated = company.patch(path, {"name": name}, if_match="*")
        assert (found(company, old), found(company, name)) == ([], ["new"])
        indexing(company, "shippingAgentsExt")
        assert (found(company, old), found(company, name)) == ([], ["new"])

    assert company.delete(path, if_match=tag_of(updated)).status_code == 204
    assert found(company, "fourth OR new") == []
    indexing(company, "shippingAgentsExt")
    assert found(company, "fourth OR new") == []
    body = {"code": "again", "name": "fifth"}
    record(company.request("PUT", path, body=body, headers={"If-None-Match": "*"}), 201)
    assert (found(company, "fourth"), found(company, "fifth")) == ([], ["again"])
    indexing(company, "shippingAgentsExt")
    assert (found(company, "fourth"), found(company, "fifth")) == ([], ["again"])


def test_many_new_records_are_indexed_in_the_background(start_service: StartService) -> None:
    """Up to the last change, even if other sets change more; a few changes are not indexed."""
    # a service of its own has no records of other tests to index
    service = start_service()
    company, few = service.new_company(), service.new_company()
    name_agents(few, "one", "two")
    company.load("unitsOfMeasureExt", *({"code": f"{number}"} for number in range(700)))
    name_agents(company, *(f"name {number}" for number in range(700)))
    assert company.search_lag("shippingAgentsExt") == 1400

    company.admin.index_lagging()

    assert company.search_lag("shippingAgentsExt") == company.search_lag("unitsOfMeasureExt") == 0
    assert found(company, '"name 699"') == ["699"]
    name_agents(company, *(f"again {number}" for number in range(501)))
    company.admin.index_lagging()
    assert company.search_lag("shippingAgentsExt") == 0
    assert found(few, "one") == ["0"]
    assert few.search_lag("shippingAgentsExt") == 2


def test_the_index_is_still_there_after_a_restart(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    with Service(fresh_database, tmp_path) as service:
        company = service.new_company()
        name_agents(company, "before")
        company.catch_up("shippingAgentsExt")
        record(company.post("shippingAgentsExt", {"code": "x", "name": "behind"}), 201)

    with Service(lambda *_: service.settings.database, tmp_path) as again:
        root = f"{again.client.root}/companies({company.id})"
        company = replace(company, carrier=again, root=root, admin=again.admin)
        assert company.search_lag("shippingAgentsExt") == 1
        assert found(company, "be OR for") == ["0", "x"]
        assert found(company, "before") == ["0"]
        assert found(company, "behind") == ["x"]


def test_a_changed_entity_type_is_searched_by_its_new_properties(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    """An index of other properties is not used."""
    hidden = replace(
        SPECIMEN,
        properties=tuple(
            replace(each, secret=each.name in ("text", "mirrored")) for each in SPECIMEN.properties
        ),
    )
    sets: tuple[EntitySet, ...] = (*MODEL.sets, replace(SPECIMENS, type=hidden))
    with Service(fresh_database, tmp_path, Model(sets)) as service:
        company = service.new_company()
        company.load("specimensExt", {"code": "A", "text": "secret text"})
        company.catch_up("specimensExt")
        assert (found(company, "a", "specimensExt"), found(company, "secret", "specimensExt")) == (
            ["A"],
            [],
        )

    with Service(lambda *_: service.settings.database, tmp_path, WITH_SPECIMENS) as again:
        root = f"{again.client.root}/companies({company.id})"
        company = replace(company, carrier=again, root=root, admin=again.admin)
        assert found(company, "secret", "specimensExt") == ["A"]
        company.catch_up("specimensExt")
        assert found(company, "secret", "specimensExt") == ["A"]
        assert company.search_lag("specimensExt") == 0


HOSTILE = [
    *('"', '""', "'", "''", "\\", "NEAR(a b)", "code:abc", "name : abc", "{a b} : c", "^abc"),
    *("abc*", "a + b", "-abc", "- abc", "abc OR", "OR", "AND NOT", "(", "abc)", "%", "_", "[a-z]"),
    *("'; DROP TABLE search_index; --", ".*", "(a+)+$", "\u0301", "\u0301\u0301\u0301", "\u200f"),
    *("\x01", "\ud7ff", "\uffff", "\U0010ffff", "a" * 4000, "\u0301" * 1000, "😀" * 1000),
]


@IN_ANY_STATE
def test_a_phrase_is_only_text(company: Company, indexing: Indexing) -> None:
    names = [name[:4000] for text in HOSTILE for name in (f"~{text}~", f"{text} abc")]
    names.append("abc code name NEAR a b")
    name_agents(company, *names)
    indexing(company, "shippingAgentsExt")

    for text in HOSTILE:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        expected = [str(at) for at, name in enumerate(names) if text.casefold() in name.casefold()]
        assert found(company, f'"{quoted}"') == sorted(expected), text


LARGE = [
    " ".join(f"a{number}" for number in range(101)),
    "a OR (b AND (" * 6 + "c" + "))" * 6,
    "(" * 101 + "a" + ")" * 101,
    "a " * 2600,
    "NOT " * 2000 + "a",
]


def test_a_search_of_too_many_terms_or_levels_is_refused(company: Company) -> None:
    for text in LARGE:
        answer = company.get("shippingAgentsExt", encoded({"$search": text}))
        refusal(answer, "BadRequest_InvalidRequestUrl", "$search")


@IN_ANY_STATE
def test_large_searches_get_a_response(company: Company, indexing: Indexing) -> None:
    name_agents(company, *(f"name {number:03}" for number in range(100)))
    indexing(company, "shippingAgentsExt")
    terms = [f'"name {number:03}"' for number in range(100)]

    assert len(found(company, " OR ".join(terms))) == 100
    assert found(company, " AND ".join(terms)) == []
    assert found(company, " ".join(f"NOT {term}" for term in terms)) == []
    assert found(company, " OR ".join(f"NOT {term}" for term in terms[1:])) != []
    assert len(found(company, "nam AND (zz OR (" * 5 + "name" + "))" * 5)) == 100
    assert len(found(company, "(" * 100 + "name" + ")" * 100)) == 100
    assert found(company, "x" * 5000) == []
