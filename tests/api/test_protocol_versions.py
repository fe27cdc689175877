"""The versions of OData: who is served, and what the others hear."""

import pytest

from support.client import record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal

pytestmark = ON_SQLITE  # nothing of this is up to the database

AGENT = "shippingAgentsExt(55555555-5555-4555-8555-555555555555)"


@pytest.mark.parametrize(
    "headers",
    [
        {"OData-MaxVersion": "4.0"},
        {"OData-MaxVersion": "4.01"},
        {"OData-MaxVersion": "4.1"},
        {"OData-MaxVersion": "5.0"},
        {"OData-MaxVersion": " 4.0;NetFx"},
        {"OData-Version": "4.0"},
        {"OData-Version": "4.01", "OData-MaxVersion": "4.01"},
        {"OData-Version": "4.0;NetFx"},
        {"OData-MaxVersion": "4.0", "MaxDataServiceVersion": "3.0"},
        {"MaxDataServiceVersion": "4.0;NetFx"},
    ],
)
def test_clients_of_4_0_and_4_01_are_answered_in_4_0(
    headers: dict[str, str], stocked: Company
) -> None:
    answer = stocked.get(AGENT, headers=headers)

    assert record(answer)["code"] == "DHL"
    assert answer.headers["odata-version"] == "4.0"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OData-MaxVersion", "3.0"),
        ("OData-MaxVersion", "2.0;NetFx"),
        ("OData-MaxVersion", "3.99"),
        ("OData-MaxVersion", "4"),
        ("OData-MaxVersion", ""),
        ("OData-MaxVersion", "v4.0"),
        ("OData-MaxVersion", "4.0, 4.01"),
        ("OData-MaxVersion", "9" * 5_000 + ".0"),
        ("OData-Version", "3.0"),
        ("OData-Version", "4.02"),
        ("OData-Version", "5.0"),
        ("OData-Version", "nonsense"),
        ("MaxDataServiceVersion", "3.0"),
        ("DataServiceVersion", "2.0"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_another_version_is_400_and_told_which_there_are(
    method: str, name: str, value: str, stocked: Company
) -> None:
    changed = stocked.changes()
    body = None if method == "GET" else {"code": "x"}

    answer = stocked.request(method, AGENT, body=body, headers={name: value, "If-Match": "*"})

    error = refusal(answer, "BadRequest", name)
    assert "OData-MaxVersion: 4.0 or 4.01" in error.message
    assert answer.headers["odata-version"] == "4.0"
    assert stocked.changes() == changed
