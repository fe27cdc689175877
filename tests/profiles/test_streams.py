"""Long texts as streams: what Business Central has in place of the interface's text in Base64."""

from base64 import b64encode, urlsafe_b64decode
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import httpx
import msgspec
import pytest

from support.batches import replies, send_documents
from support.client import Record, tag_of
from support.companies import Company
from support.databases import FreshDatabase
from support.refusals import error_in
from support.roles import tokens_of_roles
from support.service import Service

TEXTS = "ItemProductTextLongContentsExt"
CONTENT = "Tür, 2 m\r\n".encode() + bytes(range(256))
OCTETS = {"Content-Type": "application/octet-stream"}
EDIT, READ = "base64Text@odata.mediaEditLink", "base64Text@odata.mediaReadLink"


@pytest.fixture(scope="module")
def services(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, Service]]:
    """The profile without the interface's shapes, and `standard`, over one database."""
    folder = tmp_path_factory.mktemp("streams")
    with (
        Service(
            fresh_database, folder, profile="business-central", interface_extensions="off"
        ) as rehearsed,
        Service(fresh_database, folder) as plain,
    ):
        yield rehearsed, plain


@pytest.fixture
def company(services: tuple[Service, Service]) -> Company:
    """A new company with a long text."""
    company, key = services[0].new_company(), str(uuid4())
    content = b64encode(CONTENT).decode()
    company.load(TEXTS, {"systemId": key, "languageCode": "DEU", "base64Text": content})
    return company


def check_plain(company: Company, plain: Service, content: bytes) -> None:
    """The profile `standard` has the same bytes in Base64."""
    client = plain.client
    text = text_of(replace(company, carrier=client.carrier, token=client.token))
    assert text["base64Text"] == b64encode(content).decode()


def text_of(company: Company) -> Record:
    (text,) = company.listed(TEXTS)
    return text


def path_of(company: Company) -> str:
    return f"{TEXTS}({text_of(company)['systemId']})/base64Text"


def sent(company: Company, content: bytes, **headers: str) -> httpx.Response:
    guard = {name.replace("_", "-"): value for name, value in headers.items()}
    return company.request("PATCH", path_of(company), body=content, headers={**OCTETS, **guard})


def test_a_patch_replaces_the_bytes(company: Company, services: tuple[Service, Service]) -> None:
    """What they are is the client's business."""
    for media in ("application/octet-stream", "application/json", "text/html"):
        tag = str(text_of(company)["@odata.etag"])
        content = b"\0{\xff" + media.encode()
        changed = sent(company, content, If_Match=tag, Content_Type=media)

        assert (changed.status_code, changed.content) == (204, b"")
        assert tag_of(changed) == text_of(company)["@odata.etag"] != tag
        assert company.get(path_of(company)).content == content
        assert text_of(company)["languageCode"] == "DEU"
        check_plain(company, services[1], content)


def test_a_long_stream_is_converted_in_slices(
    company: Company, services: tuple[Service, Service]
) -> None:
    """A response of several slices is sent slice by slice, so it does not begin with its length."""
    for length in (196_608, 196_609, 2_000_000):
        content = (bytes(range(251)) * (length // 251 + 1))[:length]
        path = path_of(company)
        assert sent(company, content, If_Match="*").status_code == 204
        response = company.get(path)
        assert (response.status_code, response.content) == (200, content)
        assert ("content-length" in response.headers) is (length == 196_608)
        assert company.request("HEAD", path).content == b""
        check_plain(company, services[1], content)
        (in_batch,) = replies(send_documents(company, [{"id": "1", "method": "GET", "url": path}]))
        assert urlsafe_b64decode(in_batch.read(str) + "==") == content


def test_an_update_needs_the_right(company: Company, services: tuple[Service, Service]) -> None:
    reader, writer = f"reader-{uuid4()}", f"writer-{uuid4()}"
    tokens = tokens_of_roles(services[0], {reader: {TEXTS: "R"}, writer: {TEXTS: "RM"}})
    refused = company.using(tokens[reader]).patch(path_of(company), b"x", "*")
    assert (refused.status_code, error_in(refused.content).code) == (403, "Internal_ServerError")
    assert company.using(tokens[writer]).patch(path_of(company), b"x", "*").status_code == 204


def test_metadata_and_openapi_describe_streams(
    company: Company, services: tuple[Service, Service]
) -> None:
    metadata = company.get("$metadata").text
    assert 'Name="base64Text" Type="Edm.Stream"' in metadata
    document = msgspec.json.decode(services[0].origin.get("docs/openapi.json").content)
    properties = document["components"]["schemas"]["ItemProductTextLongContent"]["properties"]
    assert {EDIT, READ} < properties.keys()
    assert "base64Text" not in properties
    operations = document["paths"][f"/companies({{company_id}})/{TEXTS}({{systemId}})/base64Text"]
    assert {"get", "patch"} < operations.keys()
    assert operations["patch"]["requestBody"] == {
        "content": {"application/octet-stream": {"schema": {}}}
    }
