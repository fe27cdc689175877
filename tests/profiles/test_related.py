"""Creates with related records in their body."""

from collections.abc import Mapping
from itertools import product
from uuid import uuid4

from comptoir.catalog import MODEL
from support.batches import documents
from support.client import record
from support.companies import Company
from support.refusals import error_in
from support.roles import tokens_of_roles
from support.samples import PATHS
from support.service import Service
from support.together import together

RELATIONS = [
    (source.name, navigation.name, navigation.target)
    for source in MODEL.per_company
    for navigation in source.type.navigation
    if navigation.collection and not source.read_only
]
"""Each collection that a body may contain: the set, the property, and the set of its records."""

COMPANY: Mapping[str, object] = {"number": "C1", "type": "Company", "displayName": "Ace"}
PERSON: Mapping[str, object] = {"number": "P1", "displayName": "Al"}


def numbers(company: Company, query: str = "") -> list[str]:
    return sorted(str(each["number"]) for each in company.listed("contactsExt", query))


def test_related_records_are_created_with_the_record(rehearsed: Company) -> None:
    """They have the values of the relation, whatever their bodies say."""
    others = {**PERSON, "number": "P2", "type": "Company", "companyNumber": "C9"}
    created = rehearsed.post("contactsExt", {**COMPANY, "people": [PERSON, others]})

    assert record(created, 201)["displayName"] == "Ace"
    assert "people" not in created.json()
    assert numbers(rehearsed) == ["C1", "P1", "P2"]
    assert numbers(rehearsed, "$filter=type eq 'Person' and companyNumber eq 'C1'") == ["P1", "P2"]
    assert [each.by for each in rehearsed.changes()] == ["tests"] * 3


def test_a_record_may_have_no_related_ones(rehearsed: Company) -> None:
    record(rehearsed.post("contactsExt", {**COMPANY, "people": []}), 201)
    assert numbers(rehearsed) == ["C1"]


REFUSED: Mapping[str, tuple[object, int]] = {
    "an unknown property": ([PERSON, {"colour": "red"}], 400),
    "a value of a wrong type": ([{**PERSON, "privacyBlocked": "yes"}], 400),
    "the number of the record": ([{**PERSON, "number": "C1"}], 400),
    "a number that is given twice": ([PERSON, PERSON], 400),
    "a second level": ([{**PERSON, "people": []}], 501),
    "no array": (PERSON, 400),
    "no object": ([5], 400),
    "null": (None, 400),
    "too many": ([{} for _ in range(1_001)], 400),
    "a link": ([{**PERSON, "company@odata.bind": "contactsExt"}], 501),
}


@together("people", REFUSED)
def test_a_refused_related_record_undoes_the_record(
    people: str, services: Mapping[str, Service]
) -> None:
    related, status = REFUSED[people]
    rehearsed = services["business-central"].new_company()
    answer = rehearsed.post("contactsExt", {**COMPANY, "people": related})

    assert answer.status_code == status, answer.text
    assert rehearsed.changes() == []
    # the service remembers nothing of what was undone
    record(rehearsed.post("contactsExt", COMPANY), 201)
    assert numbers(rehearsed) == ["C1"]


def test_related_records_are_counted_before_the_first_is_planned(rehearsed: Company) -> None:
    linked = {**PERSON, "company@odata.bind": "contactsExt"}
    answer = rehearsed.post("contactsExt", {**COMPANY, "people": [linked] * 1_001})

    assert answer.status_code == 400
    message = error_in(answer.content).message
    assert message.startswith("The body exceeds the limit of 1000 related records")


def test_related_records_need_a_value_that_relates_them(rehearsed: Company) -> None:
    answer = rehearsed.post("contactsExt", {"displayName": "Ace", "people": [PERSON]})

    assert answer.status_code == 400
    assert "The related records need a value for number" in error_in(answer.content).message
    assert rehearsed.changes() == []


def test_related_records_in_a_batch(rehearsed: Company) -> None:
    write = {"id": "1", "method": "POST", "url": "contactsExt", "atomicityGroup": "g"}
    body = {**COMPANY, "people": [PERSON]}
    other = {**COMPANY, "number": "C2", "people": [{**PERSON, "number": "C1"}]}
    answers = documents(rehearsed, {**write, "body": body}, {**write, "id": "2", "body": other})
    assert answers["2"].status == 400
    assert rehearsed.changes() == []

    answers = documents(rehearsed, {**write, "body": body})
    assert answers["1"].status == 201
    assert numbers(rehearsed) == ["C1", "P1"]


def test_an_update_with_related_records_is_refused(rehearsed: Company) -> None:
    created = record(rehearsed.post("contactsExt", COMPANY), 201)
    path = f"contactsExt({created['id']})"
    for answer in (
        rehearsed.patch(path, {"people": [PERSON]}, "*"),
        rehearsed.put(path, {"people": [PERSON]}, "*"),
    ):
        assert answer.status_code == 501
        assert error_in(answer.content).code == "BadRequest_MethodNotImplemented"
    assert numbers(rehearsed) == ["C1"]


def test_the_standard_profile_refuses_related_records(services: Mapping[str, Service]) -> None:
    company = services["standard"].new_company()
    assert company.post("contactsExt", {**COMPANY, "people": [PERSON]}).status_code == 501
    assert company.changes() == []


@together(("source", "name", "target"), RELATIONS)
def test_each_related_set_needs_the_right_to_create(
    source: str, name: str, target: str, rehearsed: Company, services: Mapping[str, Service]
) -> None:
    """With every combination of letters for both sets; without the right, nothing is created."""
    letters = ("", "RMD", "I", "RIMD")
    roles = {
        f"{own}-{other}-{uuid4()}": {source: own, target: other}
        for own, other in product(letters, letters)
        if source != target or own == other
    }
    for role, token in tokens_of_roles(services["business-central"], roles).items():
        answer = rehearsed.using(token).post(source, {name: [{}]})
        allowed = "I" in roles[role][source] and "I" in roles[role][target]
        assert (answer.status_code == 403) is not allowed, (role, answer.text)
        if not allowed:
            error = error_in(answer.content)
            assert "the current permissions prevented the action" in error.message
            assert rehearsed.changes() == []


def test_each_relation_is_covered() -> None:
    assert {target for _, _, target in RELATIONS} <= PATHS.keys()
    assert RELATIONS
