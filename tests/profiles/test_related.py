"""Creates with related records in their body."""

from collections.abc import Mapping
from itertools import product
from uuid import uuid4

from comptoir.catalog import MODEL
from support.companies import Company
from support.refusals import error_in
from support.roles import tokens_of_roles
from support.service import Service
from support.together import together

RELATIONS = [
    (source.name, navigation.name, navigation.target)
    for source in MODEL.per_company
    for navigation in source.type.navigation
    if navigation.collection and not source.read_only
]
"""Each collection that a body may contain: the set, the property, and the set of its records."""

PERSON: Mapping[str, object] = {"number": "P1", "displayName": "Al"}


def test_related_records_are_counted_before_the_first_is_planned(rehearsed: Company) -> None:
    linked = {**PERSON, "company@odata.bind": "contactsExt"}
    answer = rehearsed.post(
        "contactsExt", {"number": "C1", "displayName": "Ace", "people": [linked] * 1_001}
    )

    assert answer.status_code == 400
    message = error_in(answer.content).message
    assert message.startswith("The body exceeds the limit of 1000 related records")


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
