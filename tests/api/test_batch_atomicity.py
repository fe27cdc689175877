"""Atomic groups of a batch succeed or fail together, and the responses say which."""

from collections.abc import Sequence

import msgspec

from support.batches import HTTP, Entry, documents, multipart
from support.companies import Company
from support.refusals import error_in
from support.samples import SHIPPING_AGENT
from support.service import Service
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"


def create(code: str, **more: object) -> Entry:
    return {
        "id": code,
        "atomicityGroup": "g",
        "method": "POST",
        "url": "shippingAgentsExt",
        "body": {"code": code},
        **more,
    }


FAILING: dict[str, tuple[Entry, int]] = {
    "a value": (create("B", body={"code": "B", "name": 5}), 400),
    "a unique rule": (create("A2", body={"code": "A"}), 409),
    "a tag": (
        create("B", method="PATCH", url=AGENT, headers={"If-Match": '"x"'}, body={"name": "n"}),
        412,
    ),
    "no tag": (create("B", method="DELETE", url=AGENT, body=None), 428),
    "a path": (create("B", url="nothingExt"), 404),
    "a kind that is read alone": (create("B", url="customersExt"), 405),
    "a body": (create("B", body=[]), 400),
    "a media type": (create("B", headers={"Content-Type": "text/xml"}, body="eA"), 415),
    "a URL": (create("B", url="shippingAgentsExt?x=" + "x" * 20_000), 414),
}


@together("what", FAILING)
@together("first", [True, False])
def test_a_group_with_a_refused_request_fails(what: str, first: bool, own_stock: Company) -> None:
    """The refused request has its own error, the others 424."""
    before, changes = own_stock.listed("shippingAgentsExt"), own_stock.changes()
    failing, status = FAILING[what]
    group = [failing, create("C")] if first and what != "a unique rule" else [create("A"), failing]

    answers = documents(
        own_stock, *group, {"id": "9", "method": "GET", "url": AGENT, "dependsOn": ["g"]}
    )

    at_error = str(failing["id"])
    assert answers.pop(at_error).status == status
    assert {reply.status for reply in answers.values()} == {424}
    assert {reply.error.code for reply in answers.values()} == {"Request_FailedDependency"}
    (other,) = [reply for name, reply in answers.items() if name != "9"]
    assert at_error in other.error.message
    assert own_stock.listed("shippingAgentsExt") == before
    assert own_stock.changes() == changes


def test_a_group_belongs_to_one_company(service: Service, company: Company) -> None:
    other = service.new_company()

    answers = documents(
        service.client,
        create("A", url=f"companies({company.id})/shippingAgentsExt"),
        create("B", url=f"companies({other.id})/shippingAgentsExt"),
    )

    assert [reply.status for reply in answers.values()] == [424, 400]
    assert company.listed("shippingAgentsExt") == []


def change_set(*requests: str) -> str:
    parts = [
        f"--cs\n{HTTP}Content-ID: {number}\n\n{request}\n"
        for number, request in enumerate(requests, 1)
    ]
    return "".join(
        ["--batch_1\nContent-Type: multipart/mixed; boundary=cs\n\n", *parts, "--cs--\n"]
    )


def post(code: str) -> str:
    body = msgspec.json.encode({"code": code}).decode()
    return f"POST shippingAgentsExt HTTP/1.1\nContent-Type: application/json\n\n{body}"


@together(
    ("requests", "content_id", "status"),
    [((post("A"), post("A")), "2", 409), ((post(""), post("A")), "1", 400)],
)
def test_a_refused_change_set_has_one_response(
    requests: Sequence[str], content_id: str, status: int, company: Company
) -> None:
    """OData Protocol 4.01, 11.7.7.6; without continue-on-error the batch stops there."""
    text = (
        f"{change_set(*requests)}--batch_1\n{HTTP}\nGET shippingAgentsExt HTTP/1.1\n\n--batch_1--"
    )

    (alone,) = multipart(company, text)
    first, second = multipart(company, text, {"Prefer": "continue-on-error"})

    for part in (alone, first):
        assert (part.content_id, part.status, part.parts) == (content_id, status, ())
        assert error_in(part.body).message
    assert second.body.endswith(b'"value":[]}')
