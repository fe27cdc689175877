"""`$expand` of companies: what the token allows, and limits of statements, records and memory."""

from base64 import b64encode

import pytest

from comptoir.auth.tokens import Scope
from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet
from comptoir.service import views
from conftest import stock
from support.client import Client
from support.companies import Company
from support.refusals import refusal
from support.service import Service, StartService
from support.statements import reading, statements_of


def test_the_scope_is_records_read(company: Company, service: Service) -> None:
    for scope, status in ((Scope.RECORDS_READ, 200), (Scope.RECORDS_WRITE, 403)):
        client = service.client.using(service.tokens.issue([scope], [company.id]))
        for path in ("companies", f"companies({company.id})"):
            assert client.get(path, "$expand=contactsExt").status_code == status


def test_a_record_that_cannot_be_computed_is_refused(service: Service) -> None:
    """If nothing has been sent yet; otherwise the page ends and its link gets the error."""
    good, bad = service.new_company("A good one"), service.new_company("B bad one")
    good.load("salesPricesExt", {"entryNo": 1, "quantity": 1})
    bad.load("salesPricesExt", {"entryNo": 1, "quantity": 0})
    client = service.client.using(service.tokens.issue(companies=[good.id, bad.id]))
    expand = "$expand=salesPricesExt($filter=1 div quantity gt 0)"

    first = client.get("companies", f"$orderby=name desc&{expand}")
    refusal(first, "BadRequest_InvalidRequestUrl")
    page = client.get("companies", f"$orderby=name&{expand}").json()
    assert [each["name"] for each in page["value"]] == ["A good one"]
    refusal(client.follow(page["@odata.nextLink"]), "BadRequest_InvalidRequestUrl")


PAGE = 100
MANY = 90
LONG = 20_000
FEW = 40


@pytest.fixture(scope="module")
def roomy(share_service: StartService) -> Service:
    """A service whose pages are larger than its companies' lists, with few items of `$expand`."""
    return share_service(page_size=PAGE, expand_items=FEW)


def key(number: int) -> str:
    return f"{number:08}-0000-4000-8000-000000000001"


def over(companies: list[Company], service: Service) -> Client:
    """A client whose token reaches only some companies."""
    return service.client.using(service.tokens.issue(companies=[each.id for each in companies]))


def reads(client: Client, expand: str) -> int:
    """The number of statements that read records of companies for a response."""
    query = f"$expand={expand}"
    answer, statements = statements_of(lambda: client.get("companies", query))
    assert answer.status_code == 200, answer.text
    return reading(statements)


def test_each_item_of_each_company_takes_one_statement(service: Service) -> None:
    companies = [service.new_company() for _ in range(3)]
    for company in companies:
        company.load("contactsExt", *({"number": f"{n}", "displayName": "x"} for n in range(20)))
        company.load("itemsExt", *({"number": f"{n}"} for n in range(20)))

    for expand, each_company in (
        ("contactsExt,itemsExt", 2),
        ("contactsExt($top=3),itemsExt($filter=number ne 'x';$orderby=number)", 2),
        ("contactsExt/$count($filter=number ne 'x'),itemsExt/$ref", 2),
        ("contactsExt($count=true;$filter=number ne 'x')", 2),
        ("itemsExt($expand=prices,translations)", 3),
    ):
        for some in (companies[:1], companies):
            assert reads(over(some, service), expand) == each_company * len(some), expand


def test_a_page_of_companies_ends_after_enough_records(
    roomy: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next page has the rest, without repeating or skipping a record."""
    monkeypatch.setattr(views, "ROWS", 200)
    companies = [roomy.new_company(f"{number}") for number in range(4)]
    for company in companies[:3]:
        company.load("shippingAgentsExt", *({"code": f"{n:05}"} for n in range(MANY)))
    client = over(companies, roomy)

    query = "$count=true&$orderby=name&$top=4&$expand=shippingAgentsExt($select=code)"
    pages = [client.get("companies", query).json()]
    while "@odata.nextLink" in pages[-1]:
        pages.append(client.follow(pages[-1]["@odata.nextLink"]).json())

    names = [[each["name"] for each in page["value"]] for page in pages]
    assert names == [["0", "1", "2"], ["3"]]
    assert [page["@odata.count"] for page in pages] == [4, 4]
    held = [each["shippingAgentsExt"] for each in pages[0]["value"]]
    assert [len(each) for each in held] == [MANY] * 3
    assert sum(map(len, held[:2])) < views.ROWS < sum(map(len, held))


def test_lists_of_long_records_end_by_their_size(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "BYTES", 400_000)
    count = 3 * views.BYTES // LONG
    companies = [service.new_company(f"{number}") for number in range(3)]
    text = b64encode(bytes(LONG * 3 // 4)).decode()
    for company in companies[:2]:
        rows = (
            {"systemId": key(n), "languageCode": f"{n:03}", "base64Text": text}
            for n in range(count)
        )
        company.load("ItemProductTextLongContentsExt", *rows)
    client = over(companies, service)

    expand = "contactsExt,ItemProductTextLongContentsExt($orderby=languageCode),itemsExt"
    query = f"$orderby=name&$expand={expand}"
    for coding in ("identity", "gzip"):
        answer = client.get("companies", query, {"Accept-Encoding": coding})
        assert answer.headers.get("content-encoding", "identity") == coding
        page = answer.json()
        assert "@odata.nextLink" not in page
        sizes = [len(each["ItemProductTextLongContentsExt"]) for each in page["value"]]
        assert all(0 < size * LONG < 2 * views.BYTES for size in sizes[:2])
        assert sizes[2] == 0
        found = page["value"][0]["ItemProductTextLongContentsExt"]
        link = page["value"][0].get("ItemProductTextLongContentsExt@odata.nextLink")
        while link is not None:
            rest = client.follow(link).json()
            found += rest["value"]
            link = rest.get("@odata.nextLink")
        assert [each["languageCode"] for each in found] == [f"{n:03}" for n in range(count)]


def test_all_sets_with_all_their_relations_are_expanded_at_once(
    service: Service, roomy: Service
) -> None:
    """To the depth limit; refused if that is more items than allowed."""
    companies = [stock(service.new_company()) for _ in range(2)]
    items = [deep(each, service.settings.expand_depth) for each in MODEL.per_company]
    wide = ",".join(items)
    count = wide.count(",") + wide.count("(") + 1

    assert FEW < count < service.settings.expand_items
    assert 0 < reads(over(companies, service), wide) <= count * len(companies)
    error = refusal(
        roomy.client.get("companies", f"$expand={wide}"), "BadRequest_InvalidRequestUrl"
    )
    assert f"limit of {FEW} items" in error.message


def test_a_star_counts_as_all_of_its_items(service: Service, roomy: Service) -> None:
    star = f"*($levels={service.settings.expand_depth})"
    company = stock(service.new_company())

    few, many = reads(over([company], service), "*"), reads(over([company], service), star)
    error = refusal(
        roomy.client.get("companies", f"$expand={star}"), "BadRequest_InvalidRequestUrl"
    )

    assert few == len(MODEL.per_company) < many < service.settings.expand_items
    assert f"limit of {FEW} items" in error.message


def deep(target: EntitySet, depth: int, name: str = "") -> str:
    """An item of `$expand` with all navigation properties of its records, nested to a depth."""
    relations = target.type.navigation if depth > 1 else ()
    inner = [deep(MODEL.by_name[each.target], depth - 1, each.name) for each in relations]
    return (
        f"{name or target.name}({'$expand=' + ','.join(inner)})" if inner else name or target.name
    )
