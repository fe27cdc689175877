"""Batches in multipart/mixed, as common clients write them."""

import pytest

from support.batches import HTTP, MULTIPART, multipart, parts, send_multipart
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import error_in
from support.samples import PATHS, SHIPPING_AGENT
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
CREATE = """POST shippingAgentsExt HTTP/1.1
Content-Type: application/json
"""

UI5 = """--batch_1
Content-Type:application/http
Content-Transfer-Encoding:binary

GET shippingAgentsExt?$count=true&$select=code,id&$skip=0&$top=100 HTTP/1.1
Accept:application/json;odata.metadata=minimal;IEEE754Compatible=true
Accept-Language:de
X-CSRF-Token:
Content-Type:application/json;charset=UTF-8;IEEE754Compatible=true


--batch_1
Content-Type: multipart/mixed;boundary=changeset_2

--changeset_2
Content-Type:application/http
Content-Transfer-Encoding:binary
Content-ID:0.0

POST shippingAgentsExt HTTP/1.1
Accept:application/json;odata.metadata=minimal
Content-Type:application/json;charset=UTF-8

{"code":"NEW"}
--changeset_2
Content-Type:application/http
Content-Transfer-Encoding:binary
Content-ID:1.0

PATCH $0.0 HTTP/1.1
Accept:application/json;odata.metadata=minimal
Content-Type:application/json;charset=UTF-8
If-Match:*

{"name":"n"}
--changeset_2--
--batch_1--
Group ID: $auto"""
"""SAP UI5, its OData V4 model: no blank behind colons, ids of change sets in two numbers, an
epilogue."""

CLOUD_SDK = """--batch_1
Content-Type: application/http
Content-Transfer-Encoding: binary

GET /shippingAgentsExt?$top=5 HTTP/1.1
Content-Type: application/json
Accept: application/json


--batch_1
Content-Type: multipart/mixed; boundary=changeset_2

--changeset_2
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-Id: 6c1b8e2e-7a3c-4f0d-9d0e-2f4f1c6b7a11

POST /shippingAgentsExt HTTP/1.1
Content-Type: application/json
Accept: application/json

{"code":"NEW"}

--changeset_2
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-Id: 6c1b8e2e-7a3c-4f0d-9d0e-2f4f1c6b7a12

PATCH /$6c1b8e2e-7a3c-4f0d-9d0e-2f4f1c6b7a11 HTTP/1.1
Content-Type: application/json
Accept: application/json
If-Match: *

{"name":"n"}

--changeset_2--
--batch_1--
"""
"""SAP Cloud SDK: a slash before paths that are relative to the service, Guids as ids."""

ODATA_NET = """--batch_1
Content-Type: application/http
Content-Transfer-Encoding: binary

GET {root}/shippingAgentsExt HTTP/1.1
OData-Version: 4.0
OData-MaxVersion: 4.0
Accept: application/json;odata.metadata=minimal
Accept-Charset: UTF-8
User-Agent: Microsoft ADO.NET Data Services


--batch_1
Content-Type: multipart/mixed; boundary="changeset_2"

--changeset_2
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 1

POST {root}/shippingAgentsExt HTTP/1.1
OData-Version: 4.0
Content-Type: application/json;odata.metadata=minimal

{{"@odata.type":"#Comptoir.shippingAgent","code":"NEW"}}
--changeset_2
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 2

PATCH $1 HTTP/1.1
OData-Version: 4.0
Content-Type: application/json;odata.metadata=minimal
If-Match: *

{{"name":"n"}}
--changeset_2--
--batch_1--"""
"""The OData client of .NET: absolute URLs, quoted boundaries, nothing behind the last one."""

OLINGO = """
--batch_1
Content-Type:application/http
Content-Transfer-Encoding:binary

GET {path}/shippingAgentsExt HTTP/1.1
Accept: application/json;odata.metadata=minimal
Host: {host}


--batch_1
Content-Type: multipart/mixed;boundary=changeset_2

--changeset_2
Content-Type:application/http
Content-Transfer-Encoding:binary
Content-ID:1

POST {path}/shippingAgentsExt HTTP/1.1
Accept: application/json;odata.metadata=minimal
Content-Type: application/json;odata.metadata=minimal
Host: {host}
Content-Length: 14

{{"code":"NEW"}}
--changeset_2
Content-Type:application/http
Content-Transfer-Encoding:binary
Content-ID:2

PATCH $1 HTTP/1.1
Accept: application/json;odata.metadata=minimal
Content-Type: application/json;odata.metadata=minimal
If-Match: *
Content-Length: 14

{{"name":"n"}}

--changeset_2--

--batch_1--"""
"""Apache Olingo: absolute paths with a Host, blank lines between all, lengths of bodies."""

CLIENTS = {"UI5": UI5, "Cloud SDK": CLOUD_SDK, "OData.NET": ODATA_NET, "Olingo": OLINGO}


@pytest.mark.parametrize("line_end", ["\r\n", "\n"])
@pytest.mark.parametrize("name", CLIENTS)
def test_the_batch_of_a_common_client_succeeds(name: str, line_end: str, company: Company) -> None:
    """A read, and a change set of two writes; the second refers to the first."""
    company.load("shippingAgentsExt", {"code": "OLD", "name": "old"})
    text = CLIENTS[name]
    if name in ("OData.NET", "Olingo"):
        scheme, host, path = company.root.replace("://", "/", 1).split("/", 2)
        text = text.format(root=f"{scheme}://{host}/{path}", path=f"/{path}", host=host)

    read, changes = parts(send_multipart(company, text.replace("\n", line_end).encode()))

    assert read.status == 200, read.body
    assert b'"code":"OLD"' in read.body
    created, changed = changes.parts
    assert (created.status, changed.status) == (201, 200), created.body + changed.body
    assert company.record(created.headers["location"].removeprefix(f"{company.root}/"))["name"] == (
        "n"
    )


def test_responses_have_the_order_and_the_form_of_the_requests(own_stock: Company) -> None:
    """They have the ids of the requests, and a change set has its own multipart."""
    read, changes, empty, last = multipart(
        own_stock,
        f"""--batch_1
{HTTP}Content-ID: a-1

GET {AGENT} HTTP/1.1

--batch_1
Content-Type: multipart/mixed; boundary=cs

--cs
{HTTP}Content-ID: 1

{CREATE}
{{"code": "A"}}
--cs
{HTTP}Content-ID: 2

DELETE {AGENT} HTTP/1.1
If-Match: *

--cs--
--batch_1
Content-Type: multipart/mixed; boundary=none

--none--
--batch_1
{HTTP}
GET shippingAgentsExt/$count HTTP/1.1

--batch_1--
""",
    )

    assert (read.content_id, read.status) == ("a-1", 200)
    assert [(part.content_id, part.status) for part in changes.parts] == [("1", 201), ("2", 204)]
    assert (empty.status, empty.parts) == (0, ())
    assert (last.content_id, last.body) == ("", b"1")


@together("path", PATHS.values())
def test_a_read_in_a_batch_has_the_same_response_as_alone(path: str, stocked: Company) -> None:
    alone = stocked.get(path)

    (part,) = multipart(stocked, f"--batch_1\n{HTTP}\nGET {path} HTTP/1.1\n\n\n--batch_1--\n")

    assert (part.status, part.body) == (200, alone.content)
    for name in ("content-type", "odata-version", "etag"):
        assert part.headers.get(name) == alone.headers.get(name)


AROUND = {
    "a preamble and an epilogue": ("See you\n--batch_10\n", "--batch_1--\nBye\n--batch_1\n"),
    "nothing behind the end": ("", "--batch_1--"),
    "blanks behind boundaries": ("--batch_1 \t\n", "--batch_1-- \n"),
    "a blank line before": ("\n\n", "--batch_1--\n"),
}


@together("around", AROUND)
def test_text_around_the_parts_is_ignored(around: str, stocked: Company) -> None:
    before, behind = AROUND[around]
    first = "" if "--batch_1 " in before else "--batch_1\n"

    (part,) = multipart(stocked, f"{before}{first}{HTTP}\nGET {AGENT} HTTP/1.1\n\n\n{behind}")

    assert part.status == 200


ORDER = f"""--batch_1
{HTTP}
{CREATE}
{{"code": "A"}}
--batch_1
{HTTP}
GET nothingExt HTTP/1.1

--batch_1
{HTTP}
{CREATE}
{{"code": "B"}}
--batch_1--
"""


@pytest.mark.parametrize("wish", ["", "continue-on-error=false"])
def test_a_batch_stops_at_the_first_error(wish: str, company: Company) -> None:
    """OData Protocol 4.01, 11.7.7.5: the error is the last response."""
    answered = multipart(company, ORDER, {"Prefer": wish} if wish else {})

    assert [part.status for part in answered] == [201, 404]
    assert [each["code"] for each in company.listed("shippingAgentsExt")] == ["A"]


@pytest.mark.parametrize(
    "wish", ["continue-on-error", "odata.continue-on-error", "continue-on-error=true"]
)
def test_a_batch_continues_on_errors_on_request(wish: str, company: Company) -> None:
    answer = send_multipart(company, ORDER, {"Prefer": wish})

    assert [part.status for part in parts(answer)] == [201, 404, 201]
    assert answer.headers["preference-applied"] == wish.removesuffix("=true")


def test_a_batch_with_a_preference_for_representations_succeeds(company: Company) -> None:
    """Syncfusion sends this preference with every batch, but it concerns only the parts."""
    answer = send_multipart(company, ORDER, {"Prefer": "return=representation"})

    assert "preference-applied" not in answer.headers
    assert [part.status for part in parts(answer)] == [201, 404]


def test_a_read_sees_the_writes_before_it(company: Company) -> None:
    text = ORDER.replace("nothingExt", "shippingAgentsExt/$count")

    counts = [part.body for part in multipart(company, text) if part.status == 200]

    assert counts == [b"1"]


def test_an_empty_multipart_has_an_empty_response(company: Company) -> None:
    assert multipart(company, "--batch_1--\n") == ()


def test_clients_can_split_the_response(stocked: Company) -> None:
    """With string functions: UI5 wants a line end behind the last boundary, the Cloud SDK the body
    in one line, both a boundary without quotes."""
    text = f"--batch_1\n{HTTP}\nGET {AGENT} HTTP/1.1\n\n\n--batch_1--\n"

    answer = send_multipart(stocked, text)

    media, boundary = answer.headers["content-type"].split("; boundary=")
    assert media == "multipart/mixed"
    content = answer.content.decode()
    preamble, part, end = content.split(f"--{boundary}")
    assert (preamble, end) == ("", "--\r\n")
    mime, head, body = part.split("\r\n\r\n")
    assert mime.startswith("\r\nContent-Type: application/http\r\n")
    assert head.startswith("HTTP/1.1 200 OK\r\n")
    assert body == stocked.get(AGENT).text + "\r\n"


def test_responses_have_their_length(stocked: Company) -> None:
    (part,) = multipart(stocked, f"--batch_1\n{HTTP}\nGET nothingExt HTTP/1.1\n\n--batch_1--")

    assert int(part.headers["content-length"]) == len(part.body)
    assert error_in(part.body).code == "BadRequest_ResourceNotFound"


def test_a_part_may_be_sent_to_another_company(stocked: Company, company: Company) -> None:
    text = f"--batch_1\n{HTTP}\nGET {stocked.root}/{AGENT} HTTP/1.1\n\n--batch_1--"

    (part,) = parts(send_multipart(company, text, content_type=MULTIPART))

    assert part.body == stocked.get(AGENT).content
