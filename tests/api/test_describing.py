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


BREEZE = "application/json;odata.metadata=full"


def test_metadata_in_a_batch_of_a_client_of_4_0_is_xml(company: Company) -> None:
    part = {"id": "1", "method": "GET", "url": "$metadata", "headers": {"accept": BREEZE}}

    reply = documents(company, part, headers={"OData-MaxVersion": "4.0"})["1"]

    assert reply.headers["content-type"] == "application/xml"
    assert reply.headers["odata-version"] == "4.0"


def test_service_documents_require_a_token(company: Company) -> None:
    for path in ("$metadata", ""):
        answer = company.using("").get(path)

        refusal(answer, "Authentication_InvalidCredentials")
