"""Pages have every record once, whatever is written between two of them."""

from collections.abc import Callable, Iterator

import pytest

from comptoir.plan.pages import SkipToken, encode_skip
from support.client import Page, Query, Record, encoded, page, record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.service import StartService
from support.together import together
from support.waiting import until

COUNT = 23
GUID = "{:08x}-0000-4000-8000-000000000000"


@pytest.fixture
def agents(company: Company) -> Company:
    """23 shipping agents, A00 to A22, of three names."""
    company.load("shippingAgentsExt", *(_agent(number) for number in range(COUNT)))
    return company


def _agent(number: int, code: str = "A{:02}") -> dict[str, str]:
    return {"code": code.format(number), "name": f"name {number % 3}"}


def pages(company: Company, query: Query = "", size: int = 5) -> Iterator[list[Record]]:
    """The pages of the agents, each read on demand."""
    headers = {"Prefer": f"odata.maxpagesize={size}"}
    read = page(company.get("shippingAgentsExt", query, headers))
    while read.next_link is not None:
        assert len(read.value) == size
        yield read.value
        read = page(company.follow(read.next_link, headers))
    yield read.value


def codes(read: Iterator[list[Record]]) -> list[str]:
    return [str(each["code"]) for records in read for each in records]


ALL = [f"A{number:02}" for number in range(COUNT)]


@together("size", [1, 5, 22, 23, 24, 25])
@together("order", ["code", "code desc", "name,code", "name desc,code", "name desc"])
def test_pages_have_every_record_once(size: int, order: str, agents: Company) -> None:
    whole = [str(each["code"]) for each in agents.listed("shippingAgentsExt", {"$orderby": order})]

    assert codes(pages(agents, {"$orderby": order}, size)) == whole
    assert sorted(whole) == ALL


def test_pages_are_sorted_by_key_by_default(agents: Company) -> None:
    ids = [str(each["id"]) for records in pages(agents) for each in records]

    assert ids == sorted(ids)
    assert len(ids) == COUNT


def test_pages_of_a_filter_have_all_matching_records(agents: Company) -> None:
    query = {"$filter": "name eq 'name 1'", "$orderby": "code desc"}

    assert codes(pages(agents, query, 2)) == ALL[1::3][::-1]


@together("order", ["code", "name,code desc"])
def test_records_created_or_deleted_between_pages_do_not_affect_the_others(
    order: str, agents: Company
) -> None:
    """Existing records are read once each; new ones sort before and after the page."""
    read = pages(agents, {"$orderby": order}, 4)
    found = [str(each["code"]) for each in next(read)]
    for number in range(COUNT):
        agents.load("shippingAgentsExt", _agent(number, "0-new-{}"), _agent(number, "Z-new-{}"))
        rest = next(read, None)
        if rest is None:
            break
        found += [str(each["code"]) for each in rest]

    stayed = [code for code in found if code in ALL]
    assert sorted(stayed) == ALL
    assert len(found) == len(set(found))


def test_a_record_renamed_between_pages_is_not_read_again_at_its_old_position(
    agents: Company,
) -> None:
    """The next page starts after the old name of a record at which a page ended."""
    read = pages(agents, {"$orderby": "code"}, 5)
    first = next(read)
    last = first[-1]
    agents.patch(f"shippingAgentsExt({last['id']})", {"code": "00"}, if_match="*")

    rest = codes(read)

    assert rest == ALL[5:]


@together("top", [0, 1, 4, 5, 6, 10, 22, 23, 24, 10**30])
def test_top_limits_all_pages_together(top: int, agents: Company) -> None:
    found = codes(pages(agents, {"$orderby": "code", "$top": top}))

    assert found == ALL[:top]


@together("skip", [4, 5, 12, 22, 23])
def test_skip_counts_from_the_first_page(skip: int, agents: Company) -> None:
    found = codes(pages(agents, {"$orderby": "code", "$skip": skip}))

    assert found == ALL[skip:]


def test_top_ends_without_a_link(agents: Company) -> None:
    answer = page(agents.get("shippingAgentsExt", {"$top": 5}))

    assert len(answer.value) == 5
    assert answer.next_link is None


def test_count_is_the_number_of_all_matches_on_every_page(agents: Company) -> None:
    headers = {"Prefer": "maxpagesize=3"}
    query: Query = {"$count": "true", "$filter": "name eq 'name 1'", "$top": 5}
    first = page(agents.get("shippingAgentsExt", query, headers))
    assert first.next_link is not None
    second = page(agents.follow(first.next_link, headers))

    assert (first.count, second.count) == (8, 8)
    assert (len(first.value), len(second.value)) == (3, 2)


def test_count_false_has_no_count(agents: Company) -> None:
    assert page(agents.get("shippingAgentsExt", {"$count": "false"})).count is None


def test_a_link_has_all_options_of_the_request(agents: Company) -> None:
    """Filter, order and custom options are in the link, whatever their encoding."""
    query = encoded({"$orderby": "name desc", "$filter": "name ne 'a&b=c+d%é'", "custom": "ü"})
    headers = {"Prefer": "maxpagesize=20"}
    first = page(agents.get("shippingAgentsExt", query, headers))
    assert first.next_link is not None

    assert first.next_link.startswith(f"{agents.root}/shippingAgentsExt?{query}&$skiptoken=")
    assert len(page(agents.follow(first.next_link)).value) == 3


@together(
    ("prefer", "size"),
    [
        ("odata.maxpagesize=7", 7),
        ("maxpagesize=7", 7),
        ('MaxPageSize="7"', 7),
        ("return=minimal, odata.maxpagesize=7;strict", 7),
        ("odata.maxpagesize=0", COUNT),
        ("odata.maxpagesize=-1", COUNT),
        ("odata.maxpagesize=many", COUNT),
        ("odata.maxpagesize=" + "9" * 5_000, COUNT),
        ("", COUNT),
    ],
)
def test_a_preferred_page_size_is_applied_or_ignored(
    prefer: str, size: int, agents: Company
) -> None:
    answer = agents.get("shippingAgentsExt", headers={"Prefer": prefer})

    assert len(page(answer).value) == size
    if size == 7:
        name = "odata.maxpagesize" if "odata." in prefer else "maxpagesize"
        assert answer.headers["preference-applied"] == f"{name}=7"


def test_pages_have_1000_records_by_default_and_up_to_20000(company: Company) -> None:
    company.load("shippingAgentsExt", *({"code": f"{n}"} for n in range(20_002)))

    plain = page(company.get("shippingAgentsExt"))
    preferred = company.get("shippingAgentsExt", headers={"Prefer": "maxpagesize=50000"})
    largest = page(preferred)

    assert (len(plain.value), len(largest.value)) == (1_000, 20_000)
    assert preferred.headers["preference-applied"] == "maxpagesize=20000"
    assert plain.next_link is not None
    assert largest.next_link is not None
    assert len(page(company.follow(largest.next_link)).value) == 2


def _cut(token: str) -> str:
    return token[:-2]


def _changed(token: str) -> str:
    return token[:20] + ("A" if token[20] != "A" else "B") + token[21:]


@together("damage", [_cut, _changed, lambda _: "", lambda _: "bm90aGluZw", lambda _: "é"])
def test_a_damaged_token_is_400(damage: Callable[[str], str], agents: Company) -> None:
    first = page(agents.get("shippingAgentsExt", headers={"Prefer": "maxpagesize=5"}))
    assert first.next_link is not None
    token = first.next_link.partition("$skiptoken=")[2]

    answer = agents.get("shippingAgentsExt", {"$skiptoken": damage(token)})

    refusal(answer, "BadRequest_InvalidRequestUrl", "$skiptoken")


@together("query", [{"$filter": "code eq 'A01'"}, {"$orderby": "name"}])
def test_a_token_of_another_query_is_400(query: dict[str, str], agents: Company) -> None:
    first = page(agents.get("shippingAgentsExt", headers={"Prefer": "maxpagesize=5"}))
    assert first.next_link is not None
    token = first.next_link.partition("$skiptoken=")[2]

    answer = agents.get("shippingAgentsExt", {**query, "$skiptoken": token})

    refusal(answer, "BadRequest_InvalidRequestUrl", "$skiptoken")


def test_a_token_of_another_company_is_400(agents: Company, stocked: Company) -> None:
    first = page(agents.get("shippingAgentsExt", headers={"Prefer": "maxpagesize=5"}))
    assert first.next_link is not None

    answer = stocked.follow(first.next_link.replace(agents.id, stocked.id))

    refusal(answer, "BadRequest_InvalidRequestUrl", "$skiptoken")


def test_an_empty_collection_is_a_page_without_records(company: Company) -> None:
    answer = page(company.get("shippingAgentsExt", {"$count": "true", "$orderby": "name"}))

    assert (answer.value, answer.count, answer.next_link) == ([], 0, None)


def test_a_page_has_records_written_before_it(company: Company) -> None:
    created = record(company.post("shippingAgentsExt", {"code": "NEW"}), 201)

    assert [each["id"] for each in company.listed("shippingAgentsExt")] == [created["id"]]


@together(("earlier", "value"), [(-1, "A05"), (5, 10**30), (2**70, "A05")])
def test_a_forged_token_is_400(earlier: int, value: str | int, agents: Company) -> None:
    """The checksum has no secret, so the values of a token are checked like any other input."""
    query = ("shippingAgentsExt", agents.id, "", "")
    forged = encode_skip(query, SkipToken(earlier, (value,)))

    answer = agents.get("shippingAgentsExt", {"$skiptoken": forged})

    refusal(answer, "BadRequest_InvalidRequestUrl", "$skiptoken")


def test_a_link_with_long_values_can_be_followed(company: Company) -> None:
    company.load(
        "shippingAgentsExt",
        *({"code": f"{number}", "name": chr(0x1F600 + number) * 4_000} for number in range(3)),
    )

    read = [each for part in pages(company, "$orderby=name", 1) for each in part]

    assert [each["code"] for each in read] == ["0", "1", "2"]


def test_the_applied_page_size_is_reported_for_a_shorter_page(agents: Company) -> None:
    answer = agents.get("shippingAgentsExt", "$top=3", {"Prefer": "odata.maxpagesize=10"})

    assert answer.headers["preference-applied"] == "odata.maxpagesize=10"
    assert len(page(answer).value) == 3


@ON_SQLITE
def test_a_page_that_becomes_slow_ends_early_with_a_link_to_the_rest(
    start_service: StartService,
) -> None:
    """Its status has been sent by then. No record is lost, and the next request gets the error.

    SQLite reads in slices, and the first ones take no long time; PostgreSQL refuses at once.
    """
    hurried = start_service(scan_seconds=0.000_001)
    company = hurried.new_company()
    company.load(
        "shippingAgentsExt",
        *(
            {"id": GUID.format(n), "code": f"{n}", "name": "hit" if n < 100 else "miss"}
            for n in range(20_000)
        ),
    )

    # every record costs so much that the scan of all of them cannot end in time
    name = "toupper(" * 40 + "name" + ")" * 40
    query = {"$filter": f"contains({name},'HIT')"}

    def quick_at_first() -> Page | None:
        answer = company.get("shippingAgentsExt", query)
        return page(answer) if answer.is_success else None

    # on a busy machine, even a first slice may take long
    first = until(quick_at_first, "a page of the first slices")
    assert first.next_link is not None
    assert 0 < len(first.value) <= 100
    refusal(company.follow(first.next_link), "Internal_Unavailable")


def test_a_large_page_that_is_sorted_by_no_index_is_whole(company: Company) -> None:
    """The store fetches it in portions, each after the keyset of the one before."""
    names = {f"{number:04}": f"{number % 7}" for number in range(1_500)}
    company.load(
        "contactsExt",
        *(
            {"number": number, "displayName": "x" * 4_000, "name2": name}
            for number, name in names.items()
        ),
    )
    query = {"$orderby": "name2 desc,number", "$skip": "3", "$top": "1490"}

    answer = company.get("contactsExt", query, {"Prefer": "odata.maxpagesize=2000"}).json()

    expected = sorted(names, key=lambda number: (-int(names[number]), number))
    assert [each["number"] for each in answer["value"]] == expected[3:1_493]
    assert "@odata.nextLink" not in answer
