"""What the database does for a page: it enters an index, and reads what the page shows."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import cycle
from urllib.parse import quote

import httpx
import pytest

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet, EntityType
from support.client import page
from support.companies import Company
from support.databases import ON_SQLITE
from support.replay import load_data
from support.statements import plan_of, statements_of
from support.together import check_all

ONE = {"Prefer": "odata.maxpagesize=1"}
ORDERS = (("{name}", "{name} desc,{other}"), ("{name} desc", "{name},{other} desc"))
"""Both directions, one of them with a second property: in turn for one property and the next."""


def indexed(entity_type: EntityType) -> Iterable[str]:
    """The properties that begin an index."""
    lists = [*entity_type.indexes, *[rule.properties for rule in entity_type.unique]]
    return dict.fromkeys(names[0] for names in lists)


def orders() -> Iterator[tuple[str, str, str]]:
    """Orders of each set by each property that begins an index: the set, the property, an order."""
    turns = cycle(ORDERS)
    for entity_set in MODEL.stored:
        entity_type = entity_set.type
        other = next(each.name for each in entity_type.properties if each.name != entity_type.key)
        for name in dict.fromkeys([entity_type.key, *indexed(entity_type)]):
            for order in next(turns):
                yield entity_set.name, name, order.format(name=name, other=other)


def test_a_later_page_enters_the_index_of_its_order(company: Company) -> None:
    load_data(company)
    read = set()

    def check(case: tuple[str, str, str]) -> None:
        path, name, order = case
        link = page(company.get(path, f"$orderby={quote(order)}", ONE)).next_link
        if link is None:
            return
        read.add(path)
        _, statements = statements_of(lambda: company.follow(link, ONE))
        (reading,) = [each for each in statements if re.search(rf'FROM "?{path}\b', each)]
        plan = plan_of(reading, company.admin.settings.database)
        on_sqlite = rf"company_id=\? AND \(?{name}\b[^=]*[<>]"
        assert re.search(on_sqlite + rf"|Index Cond: .*\b{name}\b", plan), plan
        # SQLite would read all records after the keyset, then sort them
        assert "MULTI-INDEX OR" not in plan

    check_all(list(orders()), check, str)
    assert len(read) > 5


def sqlite_plan(company: Company, path: str, read: Callable[[], httpx.Response]) -> str:
    """SQLite's plan of the statement by which `read` reads records of a set."""
    answer, statements = statements_of(read)
    assert answer.status_code == 200, answer.text
    (reading,) = [each for each in statements if f'FROM "{path}"' in each]
    return plan_of(reading, company.admin.settings.database)


@ON_SQLITE
def test_a_filter_uses_the_index_of_its_property(company: Company) -> None:
    def check(case: tuple[EntitySet, str]) -> None:
        entity_set, name = case
        path, default = entity_set.name, entity_set.type.by_name[name].type.default
        one, other = ("'1'", "'2'") if isinstance(default, str) else ("1", "2")
        for condition in (f"{name} eq {one}", f"{name} in ({one},{other})"):
            query = f"$filter={condition}"
            plan = sqlite_plan(company, path, partial(company.get, path, query))
            assert f"(company_id=? AND {name}=?" in plan

    check_all([(each, name) for each in MODEL.stored for name in indexed(each.type)], check)


@ON_SQLITE
def test_later_pages_and_related_records_use_the_index(company: Company) -> None:
    name = "itemTranslationsExt"
    company.load("itemsExt", {"number": "1"})
    company.load(name, *({"itemNo": "1", "languageCode": each} for each in "ABC"))
    link = page(company.get(name, "$filter=itemNo eq '1'", ONE)).next_link or ""
    for read in (
        partial(company.follow, link, ONE),
        partial(company.get, "itemsExt(number='1')/translations"),
    ):
        assert "(company_id=? AND itemNo=?" in sqlite_plan(company, name, read)


def test_the_log_names_an_order_without_an_index(
    company: Company, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "comptoir"):
        for order in ("number desc,phoneNumber", "phoneNumber,number", "id"):
            company.get("customersExt", f"$orderby={order}&$filter=addressLine2 ne 'log'")
    (message,) = [each.message for each in caplog.records if "no index" in each.message]
    assert message.startswith("customersExt: no index begins with phoneNumber")


def test_a_sort_of_all_records_copies_their_keys_alone(company: Company) -> None:
    load_data(company)
    keys_alone = re.compile(r'IN\s*\(SELECT [^,]*\bid\s+FROM "?customersExt\b.*LIMIT', re.DOTALL)
    for order, sorts in (("city desc", True), ("number desc,city", True), ("number", False)):
        query = f"$orderby={order}&$filter=addressLine2 ne 'sorted'"
        _, statements = statements_of(partial(company.get, "customersExt", query))
        (reading,) = [each for each in statements if "customersExt" in each]
        assert bool(keys_alone.search(reading)) == sorts


def test_a_page_of_few_properties_reads_these_and_the_version(company: Company) -> None:
    load_data(company)
    query = "$select=number,city&$orderby=country"
    _, statements = statements_of(lambda: company.get("customersExt", query))
    assert columns(statements) == [["record_version", "number", "city", "country", "id"]]


def test_skipped_records_are_read_by_their_order_alone(company: Company) -> None:
    rows = [{"number": f"{number:04}"} for number in range(300)]
    company.load("customersExt", *rows)
    query = "$orderby=number desc&$skip=200&$top=2&$select=number"
    answer, statements = statements_of(lambda: company.get("customersExt", query))
    assert [each["number"] for each in answer.json()["value"]] == ["0099", "0098"]
    assert columns(statements) == [["number", "id"], ["record_version", "number", "id"]]


def test_the_pages_after_the_first_do_not_count_again(company: Company) -> None:
    company.load("customersExt", {"number": "1"}, {"number": "2"})
    first = company.get("customersExt", "$count=true", ONE).json()
    company.load("customersExt", {"number": "3"})
    link = first["@odata.nextLink"]
    answer, statements = statements_of(lambda: company.follow(link, ONE))
    assert (first["@odata.count"], answer.json()["@odata.count"]) == (2, 2)
    assert not [each for each in statements if "count(" in each]


def test_a_set_is_counted_once_and_then_by_its_changes(company: Company) -> None:
    company.load("contactsExt", {"number": "1"}, {"number": "2"})
    assert company.get("contactsExt/$count").text == "2"
    company.load("contactsExt", {"number": "3"}, {"number": "2", "city": "Aachen"})
    company.load("customersExt", {"number": "1"})
    (first, *_) = company.listed("contactsExt", "$filter=number eq '1'")
    assert company.delete(f"contactsExt({first['id']})", "*").status_code == 204
    answer, statements = statements_of(lambda: company.get("contactsExt/$count"))
    assert answer.text == "2"
    assert [each for each in statements if "contactsExt" in each and "count(" in each] == []


def columns(statements: Iterable[str]) -> list[list[str]]:
    """The columns that statements read of customers."""
    selects = [re.split(r"\sFROM\s", each)[0] for each in statements if "customersExt" in each]
    lists = [each.removeprefix("SELECT ").split(",") for each in selects]
    return [[name.rpartition(".")[2].strip(' \n"') for name in names] for names in lists]
