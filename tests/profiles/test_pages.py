"""Pages of `business-central`: links name the last record, and no record is lost or repeated."""

from collections.abc import Iterator
from itertools import chain, product

import pytest

from comptoir.catalog import MODEL
from comptoir.config import load_settings
from comptoir.edm.model import EntitySet
from support.client import Record, page, pages, record
from support.companies import Company
from support.refusals import error_in
from support.samples import SAMPLES
from support.service import Service, StartService
from support.together import check_all, together

SIZE = 3
GUID = "{:08x}-0000-4000-8000-000000000000"
NAMES = ("Al", "", "Bo", "Al", "Bo", "", "Cy", "Al", "Bo", "Al")


@pytest.fixture(scope="module")
def service(share_service: StartService) -> Service:
    return share_service(profile="business-central", page_size=SIZE)


@pytest.fixture
def company(service: Service) -> Company:
    return service.new_company()


@pytest.fixture
def agents(company: Company) -> Company:
    return add_agents(company)


def add_agents(company: Company) -> Company:
    """Add ten shipping agents with names that repeat, and blank ones."""
    rows = enumerate(NAMES)
    named = ({"id": GUID.format(at), "code": f"A{at}", "name": name} for at, name in rows)
    company.load("shippingAgentsExt", *named)
    return company


def codes(read: Iterator[list[Record]]) -> list[str]:
    return [str(each["code"]) for each in chain(*read)]


CODES = ("A,B", "A B", "Ä&'", "A%2", "+=", "lower", " blank", "longer than ten characters")
"""Codes of units, also such as only files may have."""

ORDERS = ["id", "id desc", "code", "name", "name desc", "name,code desc", "length(name) desc"]
ORDERS += ["name eq 'Al' desc,name", "tolower(name),id desc"]


@together(("size", "order"), product([1, 3, 9, 10, 11], ORDERS))
def test_pages_have_every_record_once(size: int, order: str, agents: Company) -> None:
    query = {"$orderby": order}
    whole = codes(pages(agents, "shippingAgentsExt", query, 100))
    assert len(set(whole)) == len(NAMES)

    assert codes(pages(agents, "shippingAgentsExt", query, size)) == whole


def test_writes_between_pages_neither_hide_nor_repeat_a_record(service: Service) -> None:
    for order in ("", "name", "name desc"):
        agents = add_agents(service.new_company())
        read = pages(agents, "shippingAgentsExt", {"$orderby": order} if order else {}, 3)
        seen = codes(iter([next(read)]))
        removed = [code for code in ("A0", "A9") if code != seen[-1]]
        for code in removed:
            path = f"shippingAgentsExt(code='{code}')"
            assert agents.delete(path, if_match="*").status_code == 204
        for number, name in ((50, "Aa"), (51, "Zz"), (52, "")):
            record(agents.post("shippingAgentsExt", {"code": f"B{number}", "name": name}), 201)
        seen += codes(read)
        assert len(set(seen)) == len(seen), order
        assert {f"A{number}" for number in range(10)} - set(removed) <= set(seen), order


def test_a_link_names_records_by_any_key(company: Company) -> None:
    numbers = (-5, 0, 7, 10, 99)
    company.load("unitsOfMeasureExt", *({"code": code} for code in CODES))
    company.load(
        "salesPricesExt", *(dict[str, str | int](entryNo=n, assetType="Item") for n in numbers)
    )

    def check(case: tuple[str, str, str]) -> None:
        resource, key, order = case
        query = {"$orderby": order} if order else {}
        read = [each[key] for each in chain(*pages(company, resource, query, 2))]
        stored = CODES if key == "code" else numbers
        assert sorted(read, key=str) == sorted(stored, key=str)

    units, prices = ("unitsOfMeasureExt", "code"), ("salesPricesExt", "entryNo")
    cases = [(*each, order) for each in (units, prices) for order in ("", each[1])]
    cases += [(*units, "code desc"), (*prices, "entryNo desc"), (*prices, "lineDiscount,entryNo")]
    check_all(cases, check)


def variants(entity_set: EntitySet) -> Iterator[Record]:
    """Five records that differ in their keys alone."""
    unique = {rule.properties[0] for rule in entity_set.type.unique} | {entity_set.type.key}
    for number in range(1, 6):
        found = dict(SAMPLES[entity_set.name])
        for name in unique:
            is_guid = entity_set.type.by_name[name].type.edm_name == "Edm.Guid"
            is_text = isinstance(found[name], str)
            found[name] = GUID.format(number) if is_guid else f"K{number}" if is_text else number
        yield found


@together("name", SAMPLES)
def test_lists_are_sorted_by_every_property(name: str, service: Service) -> None:
    """The link's record has the same sort values when it is read again, whatever their type."""
    company, entity_set = service.new_company(), MODEL.by_name[name]
    company.load(name, *variants(entity_set))
    entity_type = entity_set.type
    sortable = [each for each in entity_type.queried if not entity_type.by_name[each].is_unlimited]
    for start in range(0, len(sortable), 10):
        query = {"$orderby": ",".join(f"{each} desc" for each in sortable[start : start + 10])}
        read = list(chain(*pages(company, name, query, 2)))
        assert len({each[entity_type.key] for each in read}) == len(read) == 5


def test_companies_have_pages(service: Service) -> None:
    other, *_ = made = {service.new_company().id for _ in range(5)}
    ids = [each["id"] for each in chain(*pages(service.client, "companies", "", 2))]
    assert made <= set(ids)
    assert len(ids) == len(set(ids))
    made.remove(other)
    token = service.tokens.issue(companies=sorted(made))
    restricted = service.client.using(token)
    assert {each["id"] for each in chain(*pages(restricted, "companies", "", 2))} == made
    for key in (other, "x" * 4_001):
        gone = restricted.get("companies", f"aid=FIN&$skiptoken={key}")
        error = error_in(gone.content)
        assert (gone.status_code, error.code) == (400, "SkipTokenIsNoLongerValid")
        assert error.message.startswith("The skip token has expired.")


def test_the_pages_of_a_service_have_its_size(agents: Company) -> None:
    first = page(agents.get("shippingAgentsExt"))
    assert len(first.value) == SIZE
    assert len(page(agents.follow(str(first.next_link))).value) == SIZE


def test_a_count_begins_with_a_byte_order_mark(agents: Company) -> None:
    assert agents.get("shippingAgentsExt/$count").content == b"\xef\xbb\xbf10"


def test_the_page_size_of_a_profile_is_a_default() -> None:
    chosen = {"profile": "business-central"}
    assert load_settings({}, {}).page_size == 1_000
    assert load_settings(chosen, {}).page_size == 20_000
    assert load_settings({**chosen, "page_size": 1_000}, {}).page_size == 1_000
    assert load_settings(chosen, {"COMPTOIR_PAGE_SIZE": "50"}).page_size == 50
