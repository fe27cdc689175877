"""Service documents and `$metadata`, at both service roots."""

from support.batches import documents
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database


def root(company: Company) -> str:
    return company.root.partition("/companies")[0]


@together("path", ["/", ""])
def test_the_root_lists_the_companies(path: str, company: Company) -> None:
    answer = company.follow(f"{root(company)}{path}")

    assert answer.headers["odata-version"] == "4.0"
    assert answer.json() == {
        "@odata.context": f"{root(company)}/$metadata",
        "value": [{"name": "companies", "kind": "EntitySet", "url": "companies"}],
    }


def test_a_company_lists_its_sets(company: Company) -> None:
    body = company.follow(f"{company.root}/").json()

    assert body["@odata.context"] == f"{company.root}/$metadata"
    for each in body["value"]:
        assert company.get(each["url"]).status_code == 200
    assert "contactsExt" in [each["name"] for each in body["value"]]


JSON = {"Accept": "application/json"}


@together("under_company", [True, False])
@together(
    ("headers", "query", "media_type", "version"),
    [
        ({}, "", "application/xml", "4.0"),
        ({"Accept": "*/*"}, "", "application/xml", "4.0"),
        ({"Accept": "application/json, text/plain, */*"}, "", "application/xml", "4.0"),
        ({"Accept": "application/xml"}, "", "application/xml", "4.0"),
        ({"Accept": "application/json"}, "", "application/json", "4.01"),
        ({"Accept": "application/xml"}, "$format=json", "application/json", "4.01"),
        ({"Accept": "application/json"}, "$format=xml", "application/xml", "4.0"),
        ({"Accept": "application/json"}, "format=application/xml", "application/xml", "4.0"),
        ({"OData-MaxVersion": "4.0"}, "", "application/xml", "4.0"),
        ({"OData-MaxVersion": "4.01"}, "", "application/xml", "4.01"),
        ({"OData-MaxVersion": "5.0"}, "", "application/xml", "4.01"),
        ({"OData-MaxVersion": "4.01", **JSON}, "", "application/json", "4.01"),
        ({"OData-Version": "4.0", **JSON}, "", "application/json", "4.01"),
    ],
)
def test_metadata_has_the_preferred_format(
    headers: dict[str, str],
    query: str,
    media_type: str,
    version: str,
    under_company: bool,
    company: Company,
) -> None:
    address = company.root if under_company else root(company)
    answer = company.follow(f"{address}/$metadata?{query}", headers)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == media_type
    assert answer.headers["odata-version"] == version
    assert f'Version="{version}"' in answer.text or f'"$Version":"{version}"' in answer.text


BREEZE = "application/json;odata.metadata=full"
POWER_QUERY = (
    "application/json;odata.metadata=minimal;q=1.0,application/json;odata=minimalmetadata;q=0.9,"
    "application/atomsvc+xml;q=0.8,application/atom+xml;q=0.8,application/xml;q=0.7,text/plain;q=0.7"
)


@together("version", ["4.0", "4.0;NetFx"])
@together(
    ("accept", "query"),
    [
        (BREEZE, ""),
        (POWER_QUERY, ""),
        ("application/json", ""),
        ("application/json, application/xml;q=0", ""),
        ("application/json", "$format=xml"),
    ],
)
def test_metadata_for_a_client_of_4_0_is_xml(
    accept: str, query: str, version: str, company: Company
) -> None:
    """CSDL JSON exists since 4.01."""
    headers = {"Accept": accept, "OData-MaxVersion": version}
    for address in (company.root, root(company)):
        answer = company.follow(f"{address}/$metadata?{query}", headers)

        assert answer.headers["content-type"] == "application/xml"
        assert answer.headers["odata-version"] == "4.0"
        assert 'Version="4.0"' in answer.text


def test_metadata_in_a_batch_of_a_client_of_4_0_is_xml(company: Company) -> None:
    part = {"id": "1", "method": "GET", "url": "$metadata", "headers": {"accept": BREEZE}}

    reply = documents(company, part, headers={"OData-MaxVersion": "4.0"})["1"]

    assert reply.headers["content-type"] == "application/xml"
    assert reply.headers["odata-version"] == "4.0"


def test_service_documents_require_a_token(company: Company) -> None:
    for path in ("$metadata", ""):
        answer = company.using("").get(path)

        refusal(answer, "Authentication_InvalidCredentials")
