"""Reading one record: its address, its formats, its links."""

from collections.abc import Mapping
from urllib.parse import quote

import pytest

from support.client import Record, record, tag_of
from support.companies import Company
from support.contract import without_control
from support.refusals import refusal
from support.samples import CONTACT, PATHS, SAMPLES, SHIPPING_AGENT, UNKNOWN

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"


@pytest.mark.parametrize("resource", PATHS)
def test_a_record_has_its_context_and_tag(resource: str, stocked: Company) -> None:
    answer = stocked.get(PATHS[resource])

    read = record(answer)
    base = stocked.root.partition("/companies")[0]
    assert read["@odata.context"] == f"{base}/$metadata#companies({stocked.id})/{resource}/$entity"
    assert read["@odata.etag"] == tag_of(answer)
    assert answer.headers["odata-version"] == "4.0"
    assert answer.headers["content-length"] == str(len(answer.content))


def test_a_key_may_be_in_upper_case(stocked: Company) -> None:
    read = stocked.record(f"contactsExt({CONTACT.upper()})")

    assert read["id"] == CONTACT


@pytest.mark.parametrize(
    "path",
    [
        f"shippingAgentsExt({SHIPPING_AGENT})/",
        f"shippingAgentsExt(id={SHIPPING_AGENT})",
        f"shippingAgentsExt%28{SHIPPING_AGENT}%29",
        "%73hippingAgentsExt(" + quote(SHIPPING_AGENT) + ")",
    ],
)
def test_an_address_may_be_written_in_several_ways(path: str, stocked: Company) -> None:
    assert without_control(stocked.record(path)) == SAMPLES["shippingAgentsExt"]


@pytest.mark.parametrize("company", ["0", "x" * 36, f"'{UNKNOWN}'", f"number={UNKNOWN}", ""])
def test_a_company_id_that_is_not_a_guid_is_400(company: str, stocked: Company) -> None:
    base = stocked.root.partition("companies")[0]

    answer = stocked.follow(f"{base}companies({company})/contactsExt")

    refusal(answer, "BadRequest_InvalidRequestUrl")


@pytest.mark.parametrize("level", ["none", "minimal", "full"])
@pytest.mark.parametrize(
    "form", ["application/json;odata.metadata={}", "application/json; metadata={}"]
)
def test_accept_selects_the_metadata_level(level: str, form: str, stocked: Company) -> None:
    answer = stocked.get(AGENT, headers={"Accept": form.format(level)})

    expected: Mapping[str, list[str]] = {
        "none": [],
        "minimal": ["@odata.context", "@odata.etag"],
        "full": [
            "@odata.context",
            "@odata.etag",
            "@odata.type",
            "@odata.id",
            "@odata.editLink",
            "id@odata.type",
        ],
    }
    read = record(answer)
    assert [name for name in read if "@" in name] == expected[level]
    assert without_control(read) == SAMPLES["shippingAgentsExt"]
    assert answer.headers["content-type"] == f"application/json;odata.metadata={level}"
    if level == "full":
        assert read["@odata.id"] == f"{stocked.root}/{AGENT}"


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/*",
        "text/html, application/json",
        "text/html;q=1, */*;q=0.1",
        "APPLICATION/JSON",
        "application/json;odata.metadata=minimal;IEEE754Compatible=false",
    ],
)
def test_an_accept_that_includes_json_returns_json(accept: str, stocked: Company) -> None:
    answer = stocked.get(AGENT, headers={"Accept": accept})

    assert record(answer)["code"] == "DHL"
    assert answer.headers["content-type"] == "application/json;odata.metadata=minimal"


@pytest.mark.parametrize(
    "accept",
    ["text/html", "application/xml", "application/json;q=0", "application/json;odata.metadata=all"],
)
def test_an_unsupported_accept_is_406(accept: str, stocked: Company) -> None:
    answer = stocked.get(AGENT, headers={"Accept": accept})

    refusal(answer, "Request_NotAcceptable", "Accept")


@pytest.mark.parametrize("path", [AGENT, "shippingAgentsExt"])
def test_head_has_the_headers_of_get(path: str, stocked: Company) -> None:
    read, head = stocked.get(path), stocked.request("HEAD", path)

    assert head.status_code == 200
    for name in read.headers.keys() - {"x-request-id"}:
        assert head.headers[name] == read.headers[name]


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "TRACE", "INVENTED"])
def test_an_unsupported_method_of_a_record_is_405(method: str, stocked: Company) -> None:
    answer = stocked.request(method, AGENT)

    refusal(answer, "BadRequest_MethodNotAllowed")
    assert answer.headers["allow"] == "HEAD, GET, PATCH, PUT, DELETE"


@pytest.mark.parametrize(
    ("resource", "allowed"),
    [("shippingAgentsExt", "HEAD, GET, POST"), ("customersExt", "HEAD, GET")],
)
@pytest.mark.parametrize("method", ["PATCH", "PUT", "DELETE"])
def test_an_unsupported_method_of_a_collection_is_405(
    method: str, resource: str, allowed: str, stocked: Company
) -> None:
    answer = stocked.request(method, resource, body={}, headers={"If-Match": "*"})

    refusal(answer, "BadRequest_MethodNotAllowed")
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(
    "query", ["$filter=code eq 'DHL'", "$top=1", "$orderby=code", "$count=true"]
)
def test_an_option_of_collections_is_refused_at_a_record(query: str, stocked: Company) -> None:
    """No option is silently ignored."""
    refusal(stocked.get(AGENT, query), "BadRequest_InvalidRequestUrl", query.partition("=")[0])


def test_every_response_has_a_different_id(stocked: Company) -> None:
    ids = {stocked.get(AGENT).headers["x-request-id"] for _ in range(20)}

    assert len(ids) == 20


def test_text_is_returned_as_sent(company: Company) -> None:
    """Text is not trimmed, folded or normalized, in any script."""
    texts: Record = {
        "displayName": "  two blanks\tand a tab  ",
        "name2": "\n\r\n\u2028 lines",
        "firstName": "سلام عليكم",
        "middleName": "中文字符",
        "surname": "👩‍👩‍👧 e\u0301 é \ufeff \ufffd \U0010ffff",
        "city": '"quotes" \\ / <tags> &amp; %41 \x01\x1f\x7f',
        "state": "'",
        "searchName": "Mixed Case",
    }

    created = record(company.post("contactsExt", texts), 201)

    assert created.items() >= texts.items()
    assert company.record(f"contactsExt({created['id']})").items() >= texts.items()
