"""Rights under the profile business-central, and the token endpoint under each profile."""

from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import pytest

from support.clients import Webshop, add_client
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import error_in
from support.roles import tokens_of_roles
from support.service import Service
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

ROLES = {"reader": {"contactsExt": "R"}, "views": {"itemsExt": "R"}}


@together(
    ("role", "method", "path", "named"),
    [
        ("views", "GET", "contactsExt", "5050 Contact Read"),
        ("reader", "POST", "contactsExt", "5050 Contact Insert"),
        ("reader", "GET", "contactsExt?$expand=company", None),
        ("views", "GET", "itemsExt?$expand=prices", "7001 Price List Line Read"),
        ("views", "GET", "filteredItemAttributesExt", "filteredItemAttribute Read"),
    ],
)
def test_a_missing_right_names_the_table(
    role: str,
    method: str,
    path: str,
    named: str | None,
    rehearsed: Company,
    services: Mapping[str, Service],
) -> None:
    own = f"{role}-{uuid4()}"
    tokens = tokens_of_roles(services["business-central"], {own: ROLES[role]})
    body = {"displayName": "Bo"} if method == "POST" else None
    name, _, query = path.partition("?")
    answer = rehearsed.using(tokens[own]).request(method, name, query, body)

    if named is None:
        assert answer.status_code == 200
        return
    assert answer.status_code == 403
    error = error_in(answer.content)
    assert error.code == "Internal_ServerError"
    assert error.message.startswith(
        f"Sorry, the current permissions prevented the action. (TableData {named}: App)"
    )


@pytest.fixture
def webshop(services: Mapping[str, Service], profile: str, tmp_path: Path) -> Webshop:
    return add_client(services[profile], tmp_path, scope="records.read")


def test_a_token_of_the_token_endpoint(profile: str, webshop: Webshop) -> None:
    answer = webshop.ask(scope="https://api.businesscentral.dynamics.com/.default")
    seconds = 3_600 if profile == "standard" else 3_599

    given = answer.json()
    assert (given["token_type"], given["expires_in"]) == ("Bearer", seconds)
    assert "refresh_token" not in given


def test_a_scope_that_the_client_lacks(profile: str, webshop: Webshop) -> None:
    answer = webshop.ask(scope="records.write")

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_scope")
    text = answer.json()["error_description"]
    assert text.startswith("AADSTS70011: ") is (profile == "business-central")
