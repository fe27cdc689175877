"""The token endpoint under each profile."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from support.clients import Webshop, add_client
from support.databases import ON_SQLITE
from support.service import Service

pytestmark = ON_SQLITE  # nothing of this is up to the database


@pytest.fixture
def webshop(services: Mapping[str, Service], profile: str, tmp_path: Path) -> Webshop:
    return add_client(services[profile], tmp_path, "--scope", "records.read")


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
