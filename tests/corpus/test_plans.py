"""What the database does for a page: it enters an index, and reads what the page shows."""

import re
from collections.abc import Iterator
from urllib.parse import quote

from comptoir.catalog import MODEL
from support.client import page
from support.companies import Company
from support.replay import load_data
from support.statements import plan_of, statements_of
from support.together import check_all

ONE = {"Prefer": "odata.maxpagesize=1"}
ORDERS = ("{name}", "{name} desc", "{name},{other} desc", "{name} desc,{other}")


def orders() -> Iterator[tuple[str, str, str]]:
    """Orders of each set by each property that begins an index: the set, the property, an order."""
    for entity_set in MODEL.stored:
        entity_type = entity_set.type
        lists = [*entity_type.indexes, *[rule.properties for rule in entity_type.unique]]
        other = next(each.name for each in entity_type.properties if each.name != entity_type.key)
        for name in dict.fromkeys([entity_type.key, *[names[0] for names in lists]]):
            for order in ORDERS:
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


def test_a_page_of_few_properties_reads_these_and_the_version(company: Company) -> None:
    load_data(company)
    query = "$select=number,city&$orderby=country"
    _, statements = statements_of(lambda: company.get("customersExt", query))
    (reading,) = [each for each in statements if "customersExt" in each]
    columns = re.split(r"\sFROM\s", reading)[0].removeprefix("SELECT ").split(",")
    names = [each.rpartition(".")[2].strip(' \n"') for each in columns]
    assert names == ["record_version", "number", "city", "country", "id"]
