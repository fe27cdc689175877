"""The limits of expressions: one at a limit has a result, and one beyond it is refused."""

from collections.abc import Callable
from itertools import product

import pytest

from support.companies import Company, Row
from support.refusals import refusal
from support.samples import PATHS
from support.service import Service, StartService
from support.specimen import WITH_SPECIMENS
from support.together import together

INVALID = "BadRequest_InvalidRequestUrl"
SET = "itemAttributesExt"


@pytest.fixture(scope="module")
def patient(share_service: StartService) -> Service:
    """A service that reads URLs of 1 MiB, so that a filter's own limits can be reached."""
    return share_service(WITH_SPECIMENS, url_bytes=1 << 20)


@pytest.fixture(scope="module")
def attributes(patient: Service) -> Company:
    """Attributes 1 to 40 with the names a1 to a40, of which the odd ones have the unit `u`."""
    company = patient.new_company()
    company.load(SET, *(_attribute(number) for number in range(1, 41)))
    return company


def _attribute(number: int) -> Row:
    return {"attributeId": number, "name": f"a{number}", "unitOfMeasure": "u" * (number % 2)}


def found(company: Company, text: str) -> list[int]:
    query = {"$filter": text, "$orderby": "attributeId"}
    return [int(each["attributeId"]) for each in company.listed(SET, query)]


def refused(company: Company, text: str, why: str) -> None:
    error = refusal(company.get(SET, {"$filter": text}), INVALID, "$filter")
    assert why in error.message


@together("depth", [1, 2, 10, 11, 49, 50, 99, 100])
def test_100_levels_of_not_are_right(depth: int, attributes: Company) -> None:
    text = "not (" * depth + "attributeId le 5" + ")" * depth

    assert found(attributes, text) == list(range(1, 6) if depth % 2 == 0 else range(6, 41))


@together("depth", [10, 50, 100])
def test_mixed_nested_conditions_are_right(depth: int, attributes: Company) -> None:
    """Comparisons with true and false, calls and lists, mixed."""
    text = "startswith(tolower(toupper(name)),'a1')"
    for level in range(depth - 3):
        text = f"({text}) eq {'true' if level % 3 else 'false'}"

    flipped = len([level for level in range(depth - 3) if level % 3 == 0]) % 2 == 1
    ones = [1, *range(10, 20)]
    assert found(attributes, text) == [n for n in range(1, 41) if (n in ones) != flipped]


def test_a_chain_of_2499_conditions_is_one_level(patient: Service) -> None:
    """It has 2,500 nodes, the chain and the conditions; one more is refused."""
    company = patient.new_company()
    company.load(
        "campaignsExt", {"number": "1", "activated": True}, {"number": "2", "activated": False}
    )

    for operator, number in (("or", 1), ("and", 1)):
        chain = f" {operator} ".join(["activated"] * 2_499)
        assert len(company.listed("campaignsExt", {"$filter": chain})) == number
    longer = " or ".join(["activated"] * 2_500)
    error = refusal(company.get("campaignsExt", {"$filter": longer}), INVALID, "$filter")
    assert "2500" in error.message.replace(",", "")


@together("operator", ["or", "and"])
@together("count", [99, 100, 101, 200, 700])
def test_long_chains_are_right(count: int, operator: str, attributes: Company) -> None:
    """The chain is longer than the database allows, so it is grouped."""
    compare = "eq" if operator == "or" else "ne"
    text = f" {operator} ".join(f"attributeId {compare} {n}" for n in range(30, 30 + count))

    inside = list(range(30, min(30 + count, 41)))
    outside = [number for number in range(1, 41) if number not in inside]
    assert found(attributes, text) == (inside if operator == "or" else outside)


@together("count", [1, 2, 3, 511, 512, 513, 999, 1_000])
def test_a_list_of_1000_values_is_one_node(count: int, attributes: Company) -> None:
    text = f"attributeId in ({','.join(str(number) for number in range(20, 20 + count))})"

    assert found(attributes, text) == list(range(20, min(20 + count, 41)))
    assert len(found(attributes, f"not ({text})")) == 40 - len(found(attributes, text))


def test_300_keys_in_a_chain_fit(service: Service) -> None:
    """Integrators read 300 records by key, in a URL of 16 KiB."""
    company = service.new_company()
    company.load("shippingAgentsExt", *({"code": f"{number}"} for number in range(400)))
    ids = [str(each["id"]) for each in company.listed("shippingAgentsExt")][:300]

    text = "+or+".join(f"id+eq+{each}" for each in ids)
    read = company.listed("shippingAgentsExt", f"$filter={text}")

    assert [each["id"] for each in read] == ids


def test_a_filter_of_16_kib_is_read_to_its_end(stocked: Company) -> None:
    start = len("/api/companies()/shippingAgentsExt") + len(stocked.id)
    ending, opening = "'+or+code+eq+'DHL'", "$filter=code+eq+'"
    padding = "x" * ((16 << 10) - start - len(opening) - len(ending))

    assert len(stocked.listed("shippingAgentsExt", f"{opening}{padding}{ending}")) == 1
    longer = stocked.get("shippingAgentsExt", f"{opening}{padding}x{ending}")
    refusal(longer, "Request_UriTooLong")


@together(
    "text",
    [
        "attributeId eq 1" + " add 1" * 1_000,
        "-" * 1_000 + "attributeId eq 1",
        "not " * 1_000 + "true",
        "a/" * 1_000 + "b eq 1",
        "name eq '" + "''" * 5_000 + "'",
        "name eq '" + "x" * 10_000,
        "attributeId eq " + "9" * 10_000,
        "attributeId eq 0." + "9" * 10_000,
        "attributeId eq 1e" + "9" * 10_000,
    ],
)
def test_hostile_filters_get_a_response(text: str, attributes: Company) -> None:
    """Each is a result or a refusal, and the service keeps running."""
    answer = attributes.get(SET, {"$filter": text})

    assert answer.status_code in (200, 400, 501)
    if answer.status_code == 200:
        assert answer.json()["value"] == []


def test_relations_are_followed_100_times(stocked: Company) -> None:
    def filtered(count: int) -> str:
        return " or ".join(f"company/company/city eq '{n}'" for n in range(count))

    assert stocked.get("contactsExt", {"$filter": filtered(50)}).status_code == 200
    more = stocked.get("contactsExt", {"$filter": filtered(51)})
    refusal(more, "BadRequest_MethodNotImplemented", "$filter")


@together("pattern", ["(a*)*b", "(a+)+$", "(a|a)*c", "(.*){1,50}x", "a{50}a{50}b"])
def test_every_pattern_matches_in_linear_time(pattern: str, specimen_service: Service) -> None:
    company = specimen_service.new_company()
    texts: list[Row] = [{"code": f"{n}", "rank": n, "text": "a" * 4_000} for n in range(50)]
    company.load("specimensExt", *texts)

    read = company.listed("specimensExt", {"$filter": f"matchesPattern(text,'{pattern}')"})

    assert len(read) == (50 if pattern == "(a+)+$" else 0)


def test_the_length_of_computed_texts_is_limited(stocked: Company) -> None:
    """The greatest possible length of all texts of a record counts, not the actual one."""
    fits = "@a"
    for _ in range(15):
        fits = f"concat(variantCode,{fits})"
    many = ",".join(f"{fits} as x{number}" for number in range(5))
    text = {"@a": "'" + "x" * 4_000 + "'"}

    for compute in (f"{fits} as x", f"substring(concat({fits},''),0,9) as x"):
        found = stocked.get(
            PATHS["salesPricesExt"], {"$compute": compute, "$select": "x", **text}
        ).json()["x"]
        assert ("RED" * 15 + "x" * 4_000).startswith(found[:9])
    for compute in (f"concat('x',{fits}) as x", many, f"length(concat('x',{fits})) as x"):
        answer = stocked.get(PATHS["salesPricesExt"], {"$compute": compute, **text})
        refusal(answer, "BadRequest_MethodNotImplemented", "$compute")
    for condition in (f"contains({fits},concat({fits},'x'))", f"concat('x',{fits}) eq 'x'"):
        answer = stocked.get("salesPricesExt", {"$filter": condition, **text})
        refusal(answer, "BadRequest_MethodNotImplemented", "$filter")
    long = stocked.get("ItemProductTextLongContentsExt", {"$compute": "concat(base64Text,'') as x"})
    refusal(long, "BadRequest_MethodNotImplemented", "$compute")


def test_the_keys_of_an_order_are_limited(stocked: Company) -> None:
    """32 keys, and 64,000 characters of text in all: the skip token has all of them."""
    keys = [f"entryNo add {number}" for number in range(33)]
    long = "assetNumber"
    for _ in range(16):
        long = f"concat(variantCode,{long})"

    assert stocked.get("salesPricesExt", {"$orderby": ",".join(keys[1:])}).status_code == 200
    again = ",".join([*keys[1:], *keys[1:]])
    assert stocked.get("salesPricesExt", {"$orderby": again}).status_code == 200
    many = stocked.get("salesPricesExt", {"$orderby": ",".join(keys)})
    refusal(many, "BadRequest_InvalidRequestUrl", "$orderby")
    for order in ({"$orderby": long}, {"$orderby": "v", "$compute": f"{long} as v"}):
        refusal(stocked.get("salesPricesExt", order), "BadRequest_MethodNotImplemented")


def test_very_long_names_have_no_suggestion(stocked: Company) -> None:
    error = refusal(stocked.get("itemsExt", f"$select={'displayName' * 1_000}"), INVALID, "$select")

    assert "Did you mean" not in error.message


@pytest.fixture(scope="module")
def deep(patient: Service) -> Company:
    """Specimens 0 to 11, which are alternately copies of the first three."""
    company = patient.new_company()
    rows: list[Row] = [{"code": f"{n}", "series": f"{n % 3}", "rank": n} for n in range(12)]
    company.load("specimensExt", *rows)
    return company


def _nested(depth: int, start: str) -> str:
    """Odd levels are alternatives: the condition is true for 11, and for 0 to 4 if it is deep."""
    text = f"{start}rank eq 11"
    for level in range(depth):
        joined = "or" if level % 2 else "and"
        text = f"{start}rank {'eq' if level % 2 else 'ne'} {level % 5} {joined} ({text})"
    return text


def _meant(depth: int, rank: int) -> bool:
    holds = rank == 11
    for level in range(depth):
        holds = (rank == level % 5 or holds) if level % 2 else (rank != level % 5 and holds)
    return holds


def _copies(code: int) -> list[int]:
    return [rank for rank in range(12) if rank % 3 == code]


def _calls(depth: int, start: str) -> str:
    calls = "".join("toupper(" if level % 2 else "concat(''," for level in range(depth))
    return f"{calls}{start}code{')' * depth} eq '2'"


DEPTHS = (5, 9, 11, 19, 20, 21, 31, 50, 99, 100)
"""Depths at which the parser of a database, or the limit of the service, makes a difference."""


@together(
    ("depth", "levels"), [*product([1, 10, 30, 90], range(4)), *((each, 0) for each in DEPTHS)]
)
def test_deep_conditions_are_right_at_every_place(depth: int, levels: int, deep: Company) -> None:
    """CTEs compute what is too deep for the database, also within `any`."""
    variables = ["", "v/", "w/", "x/"]

    def asked(text: str) -> list[int]:
        for number in range(levels, 0, -1):
            text = f"{variables[number - 1]}copies/any({variables[number][0]}:{text})"
        read = deep.listed("specimensExt", {"$filter": text, "$orderby": "rank"})
        return [int(each["rank"]) for each in read]

    def expected(holds: Callable[[int], bool], rank: int, level: int) -> bool:
        if not level:
            return holds(rank)
        return any(expected(holds, each, level - 1) for each in _copies(rank))

    start = variables[levels]
    for text, holds in (
        (_nested(depth, start), lambda rank: _meant(depth, rank)),
        (_calls(depth, start), lambda rank: rank == 2),
    ):
        assert asked(text) == [rank for rank in range(12) if expected(holds, rank, levels)]
