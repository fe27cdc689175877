"""Batches that are refused as a whole, with a message that names the part."""

from collections.abc import Mapping

import httpx

from support.batches import HTTP, MULTIPART, Entry, send_documents, send_multipart
from support.client import Client
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

CREATE: Entry = {"id": "1", "method": "POST", "url": "shippingAgentsExt", "body": {"code": "A"}}
COUNT: Entry = {"id": "2", "method": "GET", "url": "shippingAgentsExt/$count"}
POST = (
    f"--batch_1\n{HTTP}\nPOST shippingAgentsExt HTTP/1.1\nContent-Type: application/json\n\n"
    '{"code": "A"}\n'
)


def test_a_colon_in_a_name_is_not_a_member(company: Company) -> None:
    entry = '{"id": "1", "method": "GET", "url": "companies", "@a:b": {"c": ":"}}'

    answer = company.post("$batch", f'{{"requests": [{entry}]}}'.encode())

    assert answer.json()["responses"][0]["status"] == 404


def test_the_token_of_the_batch_may_be_repeated(company: Company) -> None:
    """Some clients add it to every request."""
    same = {**COUNT, "headers": {"authorization": f"Bearer {company.token}"}}

    assert send_documents(company, [same]).json()["responses"][0]["status"] == 200


def test_bytes_that_are_not_text_are_refused(company: Company) -> None:
    body = f"--batch_1\r\n{HTTP}\r\nGET x?\xff HTTP/1.1\r\n\r\n--batch_1--".encode("latin-1")

    refusal(send_multipart(company, body), "BadRequest", "part 1")


def test_custom_options_are_ignored(company: Company) -> None:
    answer = company.request("POST", "$batch", "sap-client=100", {"requests": [CREATE]})

    assert answer.status_code == 200


CHECKS: Mapping[str, tuple[Mapping[str, str], bytes, str]] = {
    "media type before format": (
        {"Content-Type": "text/plain", "Accept": "text/html"},
        b"{",
        "Request_UnsupportedMediaType",
    ),
    "format before headers": (
        {"Accept": "text/html", "If-Match": "*"},
        b"{",
        "Request_NotAcceptable",
    ),
    "headers before size": ({"If-Match": "*"}, b"x" * (9 << 20), "BadRequest"),
    "size before body": ({}, b"{" * (9 << 20), "Request_BodyTooLarge"),
}


@together("order", CHECKS)
def test_checks_come_in_order(order: str, company: Company) -> None:
    headers, body, code = CHECKS[order]

    refusal(company.request("POST", "$batch", body=body, headers=headers), code)


def send(client: Client, content_type: str, body: bytes) -> httpx.Response:
    return client.request("POST", "$batch", body=body, headers={"Content-Type": content_type})


def test_a_batch_of_one_format_declared_as_the_other_is_refused(company: Company) -> None:
    refusal(send(company, MULTIPART, b'{"requests": []}'), "BadRequest", "The body")
    refusal(send(company, "application/json", f"{POST}--batch_1--".encode()), "BadRequest")
