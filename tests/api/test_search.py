"""$search: which records contain the terms, whatever has been indexed until then."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet, Model
from support.client import encoded, page, record, tag_of
from support.companies import Company
from support.databases import FreshDatabase
from support.refusals import refusal
from support.samples import PATHS, SAMPLES
from support.service import Service
from support.specimen import SPECIMEN, SPECIMENS, WITH_SPECIMENS
from support.together import together
from support.waiting import until

Indexing = Callable[[Company, str], None]


def leave(_: Company, __: str) -> None:
    """No record is in the index yet."""


@pytest.fixture(params=[leave, Company.catch_up], ids=["unindexed", "indexed"])
def indexing(request: pytest.FixtureRequest) -> Indexing:
    """The state of the index before a search; the result does not depend on it."""
    done: Indexing = request.param
    return done


def found(company: Company, text: str, resource: str = "shippingAgentsExt") -> list[str]:
    """The codes of the records that a search finds."""
    return sorted(str(each["code"]) for each in company.listed(resource, {"$search": text}))


def name_agents(company: Company, *names: str) -> None:
    """Shipping agents of these names, their codes being their places."""
    agents = [{"code": str(number), "name": name} for number, name in enumerate(names)]
    company.load("shippingAgentsExt", *agents)


FOUND = {
    "Straße": ["straße", "STRASSE", "strasse", "aß", "ass", "RASS"],
    "ΟΔΟΣ Σοφίας": ["οδος", "ΟΔΟς", "οδοσ", "σοφίας", "ΣΟΦΊΑΣ"],
    "İstanbul": ["İSTANBUL", "i\u0307stanbul", "stanbul"],
    "Diyarbak\u0131r": ["DIYARBAK", "k\u0131r"],
    "北京市朝阳区": ["北京", "京市朝", "区"],
    "กรุงเทพมหานคร": ["เทพ", "กรุงเทพ", "ร"],
    "ｶﾅ東京都": ["ｶﾅ", "東京", "都"],
    "Жук": ["ЖУК", "жу"],
    "naïve": ["NAÏVE", "ïv"],
    "nai\u0308ve": ["NAI\u0308", "\u0308v"],
    "ﬃ": ["FFI", "ffi", "f"],
    "a😀b👩\u200d👧": ["😀", "A😀B", "👧", "\u200d"],
    'the "best" \\ 100%_*^-': ['\\"BEST\\"', "\\\\", "100%_*", "%", "_", "*", "^-"],
}


@together("text", FOUND)
def test_a_term_is_found_anywhere_in_a_text_whatever_its_case(
    text: str, company: Company, indexing: Indexing
) -> None:
    name_agents(company, f"before {text} after", "another")
    indexing(company, "shippingAgentsExt")

    for term in FOUND[text]:
        assert found(company, f'"{term}"') == ["0"], term


def test_a_term_that_no_text_contains_finds_nothing(company: Company, indexing: Indexing) -> None:
    name_agents(company, "İstanbul", "Straße", "nai\u0308ve", "abcabd bcd")
    indexing(company, "shippingAgentsExt")

    for term in ("istanbul", "strase", "naïve", "abcd", "abcabcd", "cabda", "zz", "z"):
        assert found(company, term) == []


SEARCHES = {
    "red": ["0", "1", "3"],
    "red blue": ["1"],
    "red AND blue": ["1"],
    '"red blue"': ["1"],
    '"blue red"': [],
    "blue OR green": ["1", "2", "3"],
    "red NOT green": ["0", "1"],
    "red AND NOT (blue OR green)": ["0"],
    "NOT red": ["2", "4"],
    "NOT NOT red": ["0", "1", "3"],
    "NOT (red blue)": ["0", "2", "3", "4"],
    "NOT (NOT red OR blue)": ["0", "3"],
    "(red OR blue) AND (green OR car)": ["0", "1", "3"],
    "e": ["0", "1", "2", "3"],
    "e NOT r": [],
    "gr OR ca": ["0", "1", "2", "3"],
    "red OR NOT re": ["0", "1", "3", "4"],
    "and": ["4"],
    '"OR"': ["4"],
    "red ca": ["0", "1"],
}


def test_terms_are_joined(company: Company, indexing: Indexing) -> None:
    name_agents(company, "Red car", "red blue car", "GREEN", "green red", "and/or")
    indexing(company, "shippingAgentsExt")

    assert {text: found(company, text) for text in SEARCHES} == SEARCHES


def test_a_term_is_not_found_across_two_properties(company: Company, indexing: Indexing) -> None:
    company.load("shippingAgentsExt", {"code": "abc", "name": "def"})
    indexing(company, "shippingAgentsExt")

    assert found(company, "abc def") == ["abc"]
    for text in ("abcdef", "cd", '"abc def"', '"c d"'):
        assert found(company, text) == []


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


def test_secrets_are_not_found(stocked: Company, indexing: Indexing) -> None:
    indexing(stocked, "contactsExt")

    assert stocked.listed("contactsExt", {"$search": "annette"})
    assert stocked.listed("contactsExt", {"$search": "horse"}) == []


def test_a_search_is_combined_with_the_other_options(company: Company, indexing: Indexing) -> None:
    agents = [{"code": f"{n:02}", "name": f"name {'xyz'[n % 3]} {n // 10}"} for n in range(40)]
    company.load("shippingAgentsExt", *agents)
    indexing(company, "shippingAgentsExt")
    query = {
        "$search": '"NAME X" OR "name y"',
        "$filter": "code ge '10' and endswith(name,'2') eq false",
        "$orderby": "code desc",
        "$count": "true",
    }

    first = page(company.get("shippingAgentsExt", query, {"Prefer": "maxpagesize=6"}))
    assert first.next_link is not None
    second = page(company.follow(first.next_link, {"Prefer": "maxpagesize=6"}))
    assert second.next_link is not None
    last = page(company.follow(second.next_link, {"Prefer": "maxpagesize=6"}))

    codes = [each["code"] for each in [*first.value, *second.value, *last.value]]
    expected = [n for n in range(39, 9, -1) if n % 3 < 2 and n // 10 != 2]
    assert codes == [f"{n:02}" for n in expected]
    assert (first.count, second.count, last.next_link) == (len(expected), len(expected), None)
    assert len(company.listed("shippingAgentsExt", {**query, "$top": "4"})) == 4
    counted = company.get("shippingAgentsExt/$count", {"$search": "x", "$filter": "code ge '10'"})
    assert int(counted.text.lstrip("\ufeff")) == 10


def test_a_long_result_is_complete_and_sorted(company: Company, indexing: Indexing) -> None:
    company.load("shippingAgentsExt", *({"code": f"{n:04}", "name": "alike"} for n in range(700)))
    indexing(company, "shippingAgentsExt")

    listed = company.listed("shippingAgentsExt", {"$search": "alike", "$orderby": "code"})

    assert [each["code"] for each in listed] == [f"{n:04}" for n in range(700)]


def test_a_skip_token_belongs_to_its_search(company: Company) -> None:
    name_agents(company, "abc", "abcd", "abcde")
    first = page(company.get("shippingAgentsExt", {"$search": "abc"}, {"Prefer": "maxpagesize=1"}))
    assert first.next_link is not None

    other = first.next_link.replace("search=abc", "search=bcd")
    assert other != first.next_link

    refusal(company.follow(other), "BadRequest_InvalidRequestUrl", "$skiptoken")


def test_a_view_is_searched_by_its_own_properties(company: Company, indexing: Indexing) -> None:
    company.load(
        "itemsExt", {"number": "D1", "displayName": "Desk", "baseUnitOfMeasureCode": "PCS"}
    )
    carried = {"itemNo": "D1", "attributeName": "Colour", "value": "red"}
    company.load("itemAttributeValuesExt", carried)
    indexing(company, "itemsExt")
    indexing(company, "filteredItemAttributesExt")

    def numbers(**query: str) -> list[str]:
        asked = {f"${name}": value for name, value in query.items()}
        listed = company.listed("filteredItemAttributesExt", asked)
        return [str(each["itemNo"]) for each in listed]

    assert len(company.listed("itemsExt", {"$search": "pcs"})) == 1
    assert numbers(search="PCS") == []
    assert numbers(search="desk") == ["D1"]
    red = "attributeName1 eq 'Colour' and attributeValue1 eq 'red'"
    assert numbers(search="desk", filter=red) == ["D1"]
    assert numbers(search="desk", filter=red.replace("'red'", "'blue'")) == []
    items = company.listed("itemsExt", {"$search": "desk"})
    company.patch(f"itemsExt({items[0]['id']})", {"displayName": "Bank"}, if_match="*")
    assert (numbers(search="desk"), numbers(search="bank")) == ([], ["D1"])


def test_related_records_are_searched(company: Company, indexing: Indexing) -> None:
    """Collections of related records: within records, by a path, and counted."""
    firm = {"number": "F1", "displayName": "Firm", "type": "Company", "companyNumber": ""}
    people = [
        {"number": f"P{at}", "displayName": name, "type": "Person", "companyNumber": "F1"}
        for at, name in enumerate(["Ann Brook", "Bob Brook", "Ann Hill"])
    ]
    company.load("contactsExt", firm, *people)
    indexing(company, "contactsExt")

    query = {"$search": "firm", "$filter": "type eq 'Company'"}
    expanding = {**query, "$expand": "people($search=brook NOT bob)"}
    [expanded] = company.get("contactsExt", expanding).json()["value"]
    assert [each["number"] for each in expanded["people"]] == ["P0"]
    [counted] = company.get(
        "contactsExt", {**query, "$expand": "people/$count($search=BROOK)"}
    ).json()["value"]
    assert counted["people@odata.count"] == 2
    path = f"contactsExt({expanded['id']})/people"
    assert len(company.listed(path, {"$search": "ann"})) == 2
    assert company.get(f"{path}/$count", {"$search": "ann hill"}).text.lstrip("\ufeff") == "1"


def test_records_with_integer_keys_are_found(company: Company, indexing: Indexing) -> None:
    prices = [{"entryNo": number, "assetNumber": f"IT-{number}"} for number in (2, 10, 100)]
    company.load("salesPricesExt", *prices)
    indexing(company, "salesPricesExt")

    listed = company.listed("salesPricesExt", {"$search": "it-10"})

    assert [each["entryNo"] for each in listed] == [10, 100]


def test_the_companies_are_searched(service: Service) -> None:
    name = "Käthe & Töchter 7d1c"
    company = service.new_company(name)

    listed = service.client.listed("companies", {"$search": "KÄTHE 7D1C"})

    assert [(each["id"], each["name"]) for each in listed] == [(company.id, name)]
    other = service.client.using(service.tokens.issue(companies=[service.new_company().id]))
    assert other.listed("companies", {"$search": "7d1c"}) == []


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


def test_a_search_over_many_new_records_lets_the_index_catch_up(company: Company) -> None:
    """In the background, up to the last change, even if other sets change more."""
    company.load("unitsOfMeasureExt", *({"code": f"{number}"} for number in range(700)))
    name_agents(company, *(f"name {number}" for number in range(700)))
    assert company.search_lag("shippingAgentsExt") == 1400

    def catches_up() -> bool | None:
        assert found(company, '"name 699"') == ["699"]
        return company.search_lag("shippingAgentsExt") == 0 or None

    until(catches_up, "an index that has caught up")


def test_a_few_changes_are_not_indexed(company: Company) -> None:
    name_agents(company, "one", "two")

    assert found(company, "one") == ["0"]

    assert company.search_lag("shippingAgentsExt") == 2


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


def test_a_semicolon_is_encoded_in_a_word(company: Company) -> None:
    """OData's ABNF reserves it: within `$expand` it separates options."""
    name_agents(company, "a;b", 'c "; d', "e")

    for query in ("$search=a%3Bb", "$search=a%3bb", '$search="a;b"', "$search=%22a;b%22"):
        assert [
            record["code"] for record in page(company.get("shippingAgentsExt", query)).value
        ] == ["0"], query
    for query in ('$search="%5C"; d"', "$search=%22\\%22;%20d%22"):
        assert [
            record["code"] for record in page(company.get("shippingAgentsExt", query)).value
        ] == ["1"], query
    for query, column in (("a;b", 2), ('"a" é;', 6), ("%22a%22%20;b", 5), ('"a\\\\";', 6)):
        answer = company.get("shippingAgentsExt", f"$search={query}")
        error = refusal(answer, "BadRequest_InvalidRequestUrl", "$search")
        assert f" at column {column} of $search. Write it as %3B" in error.message
        assert "%3B" in error.message


HOSTILE = [
    *('"', '""', "'", "''", "\\", "NEAR(a b)", "code:abc", "name : abc", "{a b} : c", "^abc"),
    *("abc*", "a + b", "-abc", "- abc", "abc OR", "OR", "AND NOT", "(", "abc)", "%", "_", "[a-z]"),
    *("'; DROP TABLE search_index; --", ".*", "(a+)+$", "\u0301", "\u0301\u0301\u0301", "\u200f"),
    *("\x01", "\ud7ff", "\uffff", "\U0010ffff", "a" * 4000, "\u0301" * 1000, "😀" * 1000),
]


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


def test_a_search_of_a_single_record_is_refused(stocked: Company) -> None:
    answer = stocked.get(PATHS["contactsExt"], {"$search": "hill"})

    refusal(answer, "BadRequest_InvalidRequestUrl", "$search")


def test_a_search_is_an_option_of_its_own_for_operation_7(stocked: Company) -> None:
    """The single record is not beside `value` if the request has more than a filter."""
    answer = stocked.get("salesPricesExt", {"$search": "item"})

    assert len(page(answer).value) == 1
    assert list(answer.json()) == ["@odata.context", "value"]
