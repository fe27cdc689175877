"""SQLite's plans: a read that an index serves does not read all records of the company."""

from collections.abc import Callable, Iterator

import httpx

from comptoir.catalog import MODEL
from support.client import page
from support.companies import Company
from support.databases import ON_SQLITE
from support.statements import plan_of, traced
from support.together import together

pytestmark = ON_SQLITE

TRANSLATIONS = "itemTranslationsExt"


def indexed() -> Iterator[tuple[str, str, str]]:
    """Each set with a property that is the first of an index, and a quote around its literals."""
    for entity_set in MODEL.stored:
        entity_type = entity_set.type
        lists = [*entity_type.indexes, *[rule.properties for rule in entity_type.unique]]
        for name in dict.fromkeys(names[0] for names in lists):
            is_text = isinstance(entity_type.by_name[name].type.default, str)
            yield entity_set.name, name, "'" if is_text else ""


def plan(company: Company, path: str, read: Callable[[], httpx.Response]) -> str:
    """SQLite's plan of the statement by which `read` reads records of a set."""
    with traced() as statements:
        answer = read()
    assert answer.status_code == 200, answer.text
    (reading,) = [each for each in statements if f'FROM "{path}"' in each]
    return plan_of(reading, company.admin.settings.database)


@together(
    ("path", "name", "quote", "condition"),
    [
        (*each, condition)
        for each in indexed()
        for condition in ("{0} eq {1}1{1}", "{0} in ({1}1{1},{1}2{1})")
    ],
)
def test_a_filter_uses_the_index_of_its_property(
    company: Company, path: str, name: str, quote: str, condition: str
) -> None:
    query = "$filter=" + condition.format(name, quote)

    found = plan(company, path, lambda: company.get(path, query))

    assert f"(company_id=? AND {name}=?" in found


def test_later_pages_and_related_records_use_the_index(company: Company) -> None:
    company.load("itemsExt", {"number": "1"})
    company.load(TRANSLATIONS, *({"itemNo": "1", "languageCode": each} for each in "ABC"))
    one = {"Prefer": "odata.maxpagesize=1"}
    link = page(company.get(TRANSLATIONS, "$filter=itemNo eq '1'", one)).next_link or ""
    reads = [
        lambda: company.follow(link, one),
        lambda: company.get("itemsExt(number='1')/translations"),
    ]

    plans = [plan(company, TRANSLATIONS, read) for read in reads]

    assert ["(company_id=? AND itemNo=?" in each for each in plans] == [True, True]
