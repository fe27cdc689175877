"""Long texts as streams: what Business Central has in place of the interface's text in Base64."""

from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from uuid import uuid4

import httpx
import msgspec
import pytest

from support.batches import replies, send_documents
from support.client import Record, record, tag_of
from support.companies import Company
from support.databases import FreshDatabase
from support.refusals import error_in
from support.roles import tokens_of_roles
from support.service import Service, StartService

TEXTS = "ItemProductTextLongContentsExt"
CONTENT = "Tür, 2 m\r\n".encode() + bytes(range(256))
OCTETS = {"Content-Type": "application/octet-stream"}
EDIT, READ = "base64Text@odata.mediaEditLink", "base64Text@odata.mediaReadLink"
ABSENT = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def services(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, Service]]:
    """The profile without the interface's shapes, and `standard`, over one database."""
    folder = tmp_path_factory.mktemp("streams")
    with Service(
        fresh_database, folder, profile="business-central", interface_extensions="off"
    ) as rehearsed:
        url = rehearsed.settings.database
        with Service(lambda *_: url, folder) as plain:
            yield rehearsed, plain


@pytest.fixture
def company(services: tuple[Service, Service]) -> Company:
    """A new company with a long text."""
    company = services[0].new_company()
    company.load(
        TEXTS,
        {
            "systemId": str(uuid4()),
            "languageCode": "DEU",
            "base64Text": b64encode(CONTENT).decode(),
        },
    )
    return company


def text_of(company: Company) -> Record:
    (text,) = company.listed(TEXTS)
    return text


def path_of(company: Company) -> str:
    return f"{TEXTS}({text_of(company)['systemId']})/base64Text"


def sent(company: Company, content: bytes, **headers: str) -> httpx.Response:
    guard = {name.replace("_", "-"): value for name, value in headers.items()}
    return company.request("PATCH", path_of(company), body=content, headers={**OCTETS, **guard})


def test_a_record_has_the_addresses_of_its_stream(company: Company) -> None:
    for level in ("minimal", "full", "none"):
        address = f"{company.root}/{path_of(company)}"
        key = text_of(company)["systemId"]
        accepted = {"Accept": f"application/json;odata.metadata={level}"}
        for response in (
            company.get(f"{TEXTS}({key})", headers=accepted),
            company.get(f"{TEXTS}({key})", {"$select": "base64Text"}, accepted),
        ):
            found = record(response)
            assert "base64Text" not in found
            links = {EDIT: address, READ: address}
            assert {name: found[name] for name in found if "media" in name} == (
                {} if level == "none" else links
            )
        without = record(company.get(f"{TEXTS}({key})", {"$select": "languageCode"}, accepted))
        assert not {EDIT, READ, "base64Text"}.intersection(without)


def test_its_address_has_the_bytes(company: Company) -> None:
    response = company.follow(str(text_of(company)[READ]))
    assert response.content == CONTENT
    assert response.headers["content-type"] == "application/octet-stream"
    assert tag_of(response) == text_of(company)["@odata.etag"]

    known = {"If-None-Match": tag_of(response)}
    assert company.get(path_of(company), headers=known).status_code == 304
    assert company.get(f"{path_of(company)}/$value").status_code == 404
    assert company.put(path_of(company), b"x", "*").status_code == 405


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
        client = services[1].client
        plain = replace(company, carrier=client.carrier, token=client.token)
        assert text_of(plain)["base64Text"] == b64encode(content).decode()


def test_an_update_needs_the_current_tag(company: Company) -> None:
    tag = str(text_of(company)["@odata.etag"])
    untagged = sent(company, b"1")
    assert (untagged.status_code, error_in(untagged.content).code) == (
        400,
        "BadRequest_InvalidToken",
    )
    assert sent(company, b"2", If_Match=tag).status_code == 204
    stale = sent(company, b"3", If_Match=tag)
    assert (stale.status_code, error_in(stale.content).code) == (409, "Request_EntityChanged")
    assert company.get(path_of(company)).content == b"2"
    absent = company.patch(f"{TEXTS}({ABSENT})/base64Text", b"4", "*")
    assert (absent.status_code, error_in(absent.content).code) == (
        404,
        "BadRequest_ResourceNotFound",
    )


def test_a_repeatable_update_is_done_once(company: Company) -> None:
    now = format_datetime(datetime.now(UTC), usegmt=True)
    ids = {"Repeatability_Request_ID": str(uuid4()), "Repeatability_First_Sent": now}
    tag = str(text_of(company)["@odata.etag"])
    first = sent(company, b"once", If_Match=tag, **ids)
    again = sent(company, b"once", If_Match=tag, **ids)
    assert (first.status_code, again.status_code) == (204, 204)
    assert tag_of(first) == tag_of(again) == text_of(company)["@odata.etag"]


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
        client = services[1].client
        plain = replace(company, carrier=client.carrier, token=client.token)
        assert text_of(plain)["base64Text"] == b64encode(content).decode()
        (in_batch,) = replies(send_documents(company, [{"id": "1", "method": "GET", "url": path}]))
        assert urlsafe_b64decode(in_batch.read(str) + "==") == content


def test_an_empty_stream_has_no_content(company: Company) -> None:
    assert sent(company, b"", If_Match="*").status_code == 204
    empty = company.get(path_of(company))
    assert (empty.status_code, empty.content) == (204, b"")
    assert "content-type" not in empty.headers


def test_queries_do_not_use_streams(company: Company) -> None:
    for query in (
        {"$filter": "base64Text eq 'eA=='"},
        {"$filter": "contains(base64Text,'x')"},
        {"$orderby": "base64Text"},
    ):
        refused = company.get(TEXTS, query)
        assert refused.status_code == 400
        assert "base64Text is a stream" in error_in(refused.content).message


def test_only_the_stream_of_a_read_only_record_is_written(company: Company) -> None:
    key = text_of(company)["systemId"]
    whole = company.patch(f"{TEXTS}({key})", {"base64Text": "eA=="}, "*")
    assert whole.status_code == 405
    assert company.get(path_of(company)).content == CONTENT


def test_a_batch_has_streams_in_base64(company: Company) -> None:
    path = path_of(company)
    written = {
        "id": "1",
        "method": "PATCH",
        "url": path,
        "headers": {**OCTETS, "If-Match": "*"},
        "body": urlsafe_b64encode(b"\xfe\xff?").decode(),
    }
    first, second = replies(
        send_documents(company, [written, {"id": "2", "method": "GET", "url": path}])
    )
    assert (first.status, second.status) == (204, 200)
    assert urlsafe_b64decode(second.read(str) + "=") == b"\xfe\xff?"


def test_an_update_needs_the_right(company: Company, services: tuple[Service, Service]) -> None:
    reader, writer = f"reader-{uuid4()}", f"writer-{uuid4()}"
    roles = {reader: {TEXTS: "R"}, writer: {TEXTS: "RM"}}
    tokens = tokens_of_roles(services[0], roles)
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


def test_with_the_shapes_of_the_interface_there_are_no_streams(start_service: StartService) -> None:
    service = start_service(profile="business-central")
    company = service.new_company()
    company.load(TEXTS, {"systemId": str(uuid4()), "base64Text": "eA=="})
    assert text_of(company)["base64Text"] == "eA=="
    assert company.get(path_of(company)).json()["value"] == "eA=="
    assert company.patch(path_of(company), b"x", "*").status_code == 405
