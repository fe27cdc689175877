"""Atomic groups: their writes succeed or fail together."""

import pytest

from comptoir.errors.refusal import ErrorType, Refusal
from comptoir.errors.table import (
    BAD_REQUEST,
    ENTITY_CHANGED,
    KEY_EXISTS,
    METHOD_NOT_ALLOWED,
    PARAM_NOT_PROVIDED,
    RECORD_NOT_FOUND,
)
from comptoir.store.writes import GroupRefusal
from support.companies import Company
from support.groups import Part, run_group, shown
from support.repeats import repeatable
from support.samples import PATHS, SHIPPING_AGENT, UNKNOWN
from support.service import Service
from support.together import together

ANY = {"If-Match": "*"}
AGENT = PATHS["shippingAgentsExt"]
CREATE = Part("POST", "shippingAgentsExt", {"code": "UPS"})


def test_the_writes_of_a_group_run_in_order(own_stock: Company, service: Service) -> None:
    before = own_stock.changes()

    answers = run_group(
        own_stock,
        service.settings,
        CREATE,
        Part("PATCH", AGENT, {"name": "New"}, ANY),
        Part("PUT", PATHS["campaignsExt"], {"number": "1"}, ANY),
        Part("DELETE", PATHS["itemsExt"], headers=ANY),
    )

    assert [each.status for each in answers] == [201, 200, 200, 204]
    assert [shown(each).get("name") for each in answers[:2]] == ["", "New"]
    assert own_stock.record(AGENT) == shown(answers[1])
    assert own_stock.listed("itemsExt") == []
    done = own_stock.changes()[len(before) :]
    assert [each.verb for each in done] == ["create", "update", "update", "delete"]
    assert [each.number for each in done] == [len(before) + n for n in range(1, 5)]


def test_blank_values_of_a_unique_rule_may_repeat(company: Company, service: Service) -> None:
    blank = Part("POST", "contactsExt", {"number": "", "displayName": "blank"})

    answers = run_group(company, service.settings, blank, blank)

    assert [each.status for each in answers] == [201, 201]


def test_later_writes_see_earlier_ones(company: Company, service: Service) -> None:
    """A new record is updated by the path that `add` returned."""
    answers = run_group(
        company,
        service.settings,
        CREATE,
        Part("PATCH", "{0}", {"name": "A"}, ANY),
        Part("PUT", "{0}", {"code": "NEW"}, ANY),
        Part("DELETE", "{0}", headers=ANY),
        Part("POST", "shippingAgentsExt", {"code": "NEW"}),
    )

    assert [each.status for each in answers] == [201, 200, 200, 204, 201]
    assert [shown(answers[n])["name"] for n in range(3)] == ["", "A", ""]
    ids = {shown(answers[n])["id"] for n in range(3)}
    assert len(ids) == 1
    [left] = company.listed("shippingAgentsExt")
    assert left["id"] == shown(answers[4])["id"] not in ids


def test_the_path_of_a_record_is_known_before_the_commit(
    company: Company, service: Service
) -> None:
    """Also with a key in the body, and with a code that has an apostrophe."""
    answers = run_group(
        company,
        service.settings,
        Part("POST", "shippingAgentsExt", {"code": "A", "id": UNKNOWN.upper()}),
        Part("PATCH", "{0}", {"name": "a"}, ANY),
        Part("POST", "unitsOfMeasureExt", {"code": "1' ft/ü"}, ANY),
        Part("PATCH", "{2}", {"symbol": "u"}, ANY),
        Part("PATCH", "{3}", {"displayName": "foot"}, ANY),
    )

    assert shown(answers[1])["id"] == UNKNOWN
    assert (shown(answers[4])["code"], shown(answers[4])["symbol"]) == ("1' ft/ü", "u")


def test_a_value_that_the_group_has_freed_can_be_used(own_stock: Company, service: Service) -> None:
    answers = run_group(
        own_stock,
        service.settings,
        Part("DELETE", AGENT, headers=ANY),
        Part("POST", "shippingAgentsExt", {"code": "DHL", "id": SHIPPING_AGENT}),
    )

    assert [each.status for each in answers] == [204, 201]


FAILING: dict[str, tuple[Part, ErrorType]] = {
    "a stale tag": (Part("PATCH", AGENT, {"name": "x"}, {"If-Match": '"x"'}), ENTITY_CHANGED),
    "an unknown record": (
        Part("DELETE", f"shippingAgentsExt({UNKNOWN})", headers=ANY),
        RECORD_NOT_FOUND,
    ),
    "a wrong value": (Part("PATCH", AGENT, {"name": 5}, ANY), BAD_REQUEST),
    "a missing value": (Part("POST", "shippingAgentsExt", {}), PARAM_NOT_PROVIDED),
    "a missing key": (Part("POST", "unitsOfMeasureExt", {}, ANY), PARAM_NOT_PROVIDED),
    "a value that the group took": (CREATE, KEY_EXISTS),
    "a key that the group took": (
        Part("POST", "shippingAgentsExt", {"code": "X", "id": SHIPPING_AGENT}),
        KEY_EXISTS,
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_refused_write_undoes_the_group(name: str, own_stock: Company, service: Service) -> None:
    """The refusal has the index of the write, and no number is used."""
    failing, kind = FAILING[name]
    before, agents = own_stock.changes(), own_stock.listed("shippingAgentsExt")

    with pytest.raises(GroupRefusal) as refused:
        run_group(
            own_stock,
            service.settings,
            CREATE,
            Part("PATCH", AGENT, {"name": "New"}, ANY),
            failing,
            Part("DELETE", AGENT, headers=ANY),
        )

    assert refused.value.index == 2
    assert refused.value.refusal.error is kind
    assert own_stock.changes() == before
    assert own_stock.listed("shippingAgentsExt") == agents
    own_stock.post("shippingAgentsExt", {"code": "NEXT"})
    assert own_stock.changes()[-1].number == len(before) + 1


@together(
    ("part", "kind", "named"),
    [
        (Part("GET", AGENT), BAD_REQUEST, "GET"),
        (Part("HEAD", AGENT), BAD_REQUEST, "HEAD"),
        (Part("PATCH", "shippingAgentsExt", {}), METHOD_NOT_ALLOWED, "PATCH"),
        (Part("PATCH", AGENT, b"{", ANY), BAD_REQUEST, "JSON"),
    ],
)
def test_errors_that_need_no_record_are_refused_by_add(
    part: Part, kind: ErrorType, named: str, own_stock: Company, service: Service
) -> None:
    before = own_stock.changes()

    with pytest.raises(Refusal, match=named) as refused:
        run_group(own_stock, service.settings, CREATE, part)

    assert refused.value.error is kind
    assert own_stock.changes() == before


def test_a_group_belongs_to_one_company(company: Company, service: Service) -> None:
    other = service.new_company()

    with pytest.raises(Refusal, match="different companies") as refused:
        run_group(
            company, service.settings, CREATE, Part("POST", CREATE.path, CREATE.body, {}, other.id)
        )

    assert refused.value.error is BAD_REQUEST
    assert company.changes() == other.changes() == []


def test_an_empty_group_has_no_responses(company: Company, service: Service) -> None:
    assert run_group(company, service.settings) == []


def test_a_repeated_group_runs_once(company: Company, service: Service) -> None:
    """Its paths are the same, although the key of the new record was not sent."""
    parts = [
        Part("POST", "shippingAgentsExt", {"code": "UPS"}, repeatable()),
        Part("PATCH", "{0}", {"name": "New"}, repeatable(If_Match="*")),
        Part("DELETE", "{0}", headers=repeatable(If_Match="*")),
    ]

    first, again = (run_group(company, service.settings, *parts) for _ in range(2))

    assert [each.status for each in first] == [201, 200, 204]
    assert again == first
    assert all((b"repeatability-result", b"accepted") in each.headers for each in again)
    assert [change.verb for change in company.changes()] == ["create", "update", "delete"]


@together("known", [0, 1])
def test_a_group_with_a_repeated_part_is_refused(
    known: int, company: Company, service: Service
) -> None:
    """Only a whole group can be repeated."""
    parts = [Part("POST", "shippingAgentsExt", {"code": code}, repeatable()) for code in "AB"]
    run_group(company, service.settings, parts[known])
    changed = company.changes()

    with pytest.raises(GroupRefusal, match="group") as refused:
        run_group(company, service.settings, *parts)

    assert refused.value.index == 1
    assert refused.value.refusal.headers == {"Repeatability-Result": "rejected"}
    assert company.changes() == changed


def test_a_refused_group_is_tried_again(company: Company, service: Service) -> None:
    """Also its valid writes."""
    parts = [Part("POST", "shippingAgentsExt", {"code": code}, repeatable()) for code in "AB"]
    created = company.post("shippingAgentsExt", {"code": "B"})
    with pytest.raises(GroupRefusal):
        run_group(company, service.settings, *parts)
    company.delete(f"shippingAgentsExt({created.json()['id']})", if_match="*")

    answers = run_group(company, service.settings, *parts)

    assert [each.status for each in answers] == [201, 201]
    assert run_group(company, service.settings, *parts) == answers


@together(
    "headers", [[{}, repeatable()], [repeatable(), {}], [repeatable("one"), repeatable("one")]]
)
def test_a_group_has_an_id_for_each_request_or_none(
    headers: list[dict[str, str]], company: Company, service: Service
) -> None:
    parts = [
        Part("POST", "shippingAgentsExt", {"code": f"{number}"}, each)
        for number, each in enumerate(headers)
    ]

    with pytest.raises(Refusal, match="Repeatability-Request-ID") as refused:
        run_group(company, service.settings, *parts)

    assert refused.value.headers == {"Repeatability-Result": "rejected"}
    assert company.changes() == []
