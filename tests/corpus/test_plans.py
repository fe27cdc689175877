"""What the database does for a page: it enters an index, and reads what the page shows."""

import logging
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import cycle
from urllib.parse import quote

import pytest

from comptoir.catalog import MODEL
from support.client import page
from support.companies import Company
from support.replay import load_data
from support.statements import plan_of, statements_of
from support.together import check_all

ONE = {"Prefer": "odata.maxpagesize=1"}
ORDERS = (("{name}", "{name} desc,{other}"), ("{name} desc", "{name},{other} desc"))
"""Both directions, one of them with a second property: in turn for one property and the next."""


def orders() -> Iterator[tuple[str, str, str]]:
    """Orders of each set by each property that begins an index: the set, the property, an order."""
    turns = cycle(ORDERS)
    for entity_set in MODEL.stored:
        entity_type = entity_set.type
        lists = [*entity_type.indexes, *[rule.properties for rule in entity_type.unique]]
        other = next(each.name for each in entity_type.properties if each.name != entity_type.key)
        for name in dict.fromkeys([entity_type.key, *[names[0] for names in lists]]):
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
