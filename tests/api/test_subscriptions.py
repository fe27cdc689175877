"""The resource of subscriptions: its handshake, what it stores, and who may see it."""

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import httpx
import pytest

from comptoir.auth.audit import ActName
from comptoir.auth.tokens import Scope
from support.client import Client
from support.companies import Company
from support.databases import ON_SQLITE, run_sql
from support.ports import free_port
from support.receiver import Answer, Receiver, cut, echo_in_bytes, status
from support.refusals import error_in
from support.roles import tokens_of_roles
from support.service import Service, StartService
from support.together import check_all, together

SCOPES = (Scope.RECORDS_READ, Scope.RECORDS_WRITE, Scope.EVENTS)
STATE = "a secret of the receiver"
ABSENT = "0" * 48
DAYS = timedelta(days=3)


def with_subscriptions(start: StartService, outgoing_allow: str = "127.0.0.0/8") -> Service:
    """A service that may reach receivers on the loopback address."""
    return start(profile="business-central", outgoing_allow=outgoing_allow, outgoing_http="on")


@pytest.fixture(scope="module")
def service(share_service: StartService) -> Service:
    return with_subscriptions(share_service)


@pytest.fixture
def root(service: Service, company: Company) -> Client:
    """A client at the service root, whose token is for the company alone."""
    token = service.tokens.issue(SCOPES, [company.id], subject=company.id)
    return service.client.using(token)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def wanted(receiver: Receiver, company: Company, **changed: object) -> dict[str, object]:
    """The body of a new subscription."""
    resource = f"/api/companies({company.id})/contactsExt"
    sent = {"notificationUrl": receiver.url(), "resource": resource, "clientState": STATE}
    return {**sent, **changed}


def subscribed(response: httpx.Response, status_code: int = 201) -> dict[str, str]:
    assert response.status_code == status_code, response.text
    shown: dict[str, str] = response.json()
    return shown


def refused(response: httpx.Response, status_code: int, code: str) -> str:
    """The message of an error."""
    assert response.status_code == status_code, response.text
    error = error_in(response.content)
    assert error.code == code
    return error.message


def path_of(subscription: dict[str, str]) -> str:
    return f"subscriptions('{subscription['subscriptionId']}')"


def test_a_subscription_is_added_read_renewed_and_deleted(
    service: Service, company: Company, root: Client, receiver: Receiver
) -> None:
    response = root.post("subscriptions", wanted(receiver, company))
    assert response.headers["content-type"] == "application/json; odata.metadata=minimal"
    added = subscribed(response)

    assert "etag" not in response.headers
    opaque = b64decode(added["@odata.etag"].removeprefix('W/"').removesuffix('"')).decode()
    assert opaque == "'19;00000000000000000011;00;'", "tags have the form of the profile"
    assert response.headers["location"] == f"{root.root}/{path_of(added)}"
    assert added["@odata.context"] == f"{root.root}/$metadata#subscriptions/$entity"
    assert added["notificationUrl"] == receiver.url()
    assert added["resource"] == f"api/companies({company.id})/contactsExt"
    assert added["clientState"] == STATE
    ends = datetime.fromisoformat(added["expirationDateTime"])
    assert added["expirationDateTime"][19:] == "Z", "times have the form of the profile"
    modified = datetime.fromisoformat(added["lastModifiedDateTime"])
    assert timedelta() <= modified + DAYS - ends < timedelta(seconds=1)
    assert subscribed(root.get(path_of(added)), 200) == added
    del added["@odata.context"]
    assert root.get("subscriptions").json()["value"] == [added]

    other = {"notificationUrl": receiver.url("/other?code=x"), "clientState": None}
    renewed = subscribed(root.patch(path_of(added), other, added["@odata.etag"]), 200)
    assert renewed["notificationUrl"] == receiver.url("/other?code=x")
    assert (renewed["clientState"], renewed["resource"]) == ("", added["resource"])
    assert renewed["@odata.etag"] != added["@odata.etag"]
    first, second = receiver.handshakes
    assert first.startswith("/hook?validationToken=")
    assert second.startswith("/other?code=x&validationToken=")
    assert first.partition("=")[2] != second.rpartition("=")[2]

    message = refused(
        root.delete(path_of(added), added["@odata.etag"]), 409, "Request_EntityChanged"
    )
    assert message.startswith("Another user has already changed the record.")
    assert root.delete(path_of(added), renewed["@odata.etag"]).status_code == 204
    refused(root.get(path_of(added)), 404, "BadRequest_ResourceNotFound")
    assert root.get("subscriptions").json()["value"] == []
    detail = f"api/companies({company.id})/contactsExt to 127.0.0.1"
    entries = service.admin.wait(service.admin.control.audit(0, 10_000))
    found = [each for each in entries if each.target == added["subscriptionId"]]
    assert [(each.act, each.by, each.detail) for each in found] == [
        (ActName.SUBSCRIPTION_ADD, company.id, detail),
        (ActName.SUBSCRIPTION_RENEW, company.id, detail),
        (ActName.SUBSCRIPTION_REMOVE, company.id, detail),
    ]


@ON_SQLITE
@together("prefix", ["{root}/", "/api/v2.0/", "api/beta/", "/", ""])
def test_a_resource_has_several_forms(
    prefix: str, company: Company, root: Client, receiver: Receiver
) -> None:
    """What it has in front of the company is repeated, without the service's own address."""
    path = f"companies({company.id})/contactsExt"
    sent = wanted(receiver, company, resource=prefix.format(root=root.root) + path)
    added = subscribed(root.post("subscriptions", sent))
    shown = prefix.strip("/") if prefix in ("/api/v2.0/", "api/beta/") else "api"
    assert added["resource"] == f"{shown}/{path}"


@ON_SQLITE
@together(
    "resource",
    [
        *("https://example.com/api/companies({id})/contactsExt", "contactsExt", "//[", "{id}"),
        *("companies({id})/nothingExt", "companies({id})", "companies({id})/contactsExt(1)"),
        *("companies({id})/contactsExt/$count", "companies(1)/contactsExt", "companies"),
        *("companies({other})/contactsExt", "a b/companies({id})/contactsExt"),
        *("companies({id})/contactsExt?$filter=city eq 'Berlin'", "a" * 300 + "companies({id})/x"),
        "companies({id})/filteredItemAttributesExt",
    ],
)
def test_a_resource_that_has_no_notifications(
    resource: str, service: Service, company: Company, root: Client, receiver: Receiver
) -> None:
    other = service.new_company().id
    sent = wanted(receiver, company, resource=resource.format(id=company.id, other=other))
    message = refused(root.post("subscriptions", sent), 400, "BadRequest")
    assert "is not a collection whose changes are tracked" in message
    assert receiver.handshakes == []


@ON_SQLITE
def test_a_receiver_that_does_not_shake_hands(
    company: Company, root: Client, receiver: Receiver
) -> None:
    """Nothing is stored, and a renewal changes nothing."""
    added = subscribed(root.post("subscriptions", wanted(receiver, company)))
    del added["@odata.context"]
    redirect = status(302, Location=receiver.url("/other"))
    answers = [status(200, b"another"), status(200), status(202), redirect, status(500), cut]

    def check(answer: Answer) -> None:
        receiver.handshake = answer
        for response in (
            root.post("subscriptions", wanted(receiver, company)),
            root.patch(path_of(added), {"clientState": "new"}, "*"),
        ):
            message = refused(response, 400, "BadRequest")
            assert message.startswith("The notification URL did not return the validation token: ")
        assert root.get("subscriptions").json()["value"] == [added]

    check_all(answers, check)
    assert len(receiver.handshakes) == 1 + 2 * len(answers)


@ON_SQLITE
def test_a_receiver_answers_byte_by_byte(
    company: Company, root: Client, receiver: Receiver
) -> None:
    receiver.handshake = echo_in_bytes
    subscribed(root.post("subscriptions", wanted(receiver, company)))


@ON_SQLITE
@together(
    ("url", "problem"),
    [
        ("ftp://example.com/hook", "does not start with https://"),
        ("https://user:password@example.com/hook", "contains a user or a password"),
        ("https://10.0.0.1:8443/hook", "cannot be reached"),
        ("https://169.254.169.254/latest", "cannot be reached"),
        ("not a URL", "is not printable ASCII, or is too long"),
        ("http://127.0.0.1:22/", "has a port below 1024"),
        ("http://127.0.0.1:9000/hook#part", "has the fragment '#part'. Remove it"),
    ],
)
def test_a_receiver_that_may_not_be_reached(
    url: str, problem: str, company: Company, root: Client, receiver: Receiver
) -> None:
    sent = wanted(receiver, company, notificationUrl=url)
    message = refused(root.post("subscriptions", sent), 400, "BadRequest")
    assert problem in message or (problem.startswith("is not printable") and "URL" in message)
    assert root.get("subscriptions").json()["value"] == []


@ON_SQLITE
@together(("allowed", "reason"), [("", "is not a global"), ("127.0.0.0/8", "Conn")])
def test_a_client_does_not_learn_the_address_of_a_name(
    allowed: str,
    reason: str,
    start_service: StartService,
    receiver: Receiver,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The operator reads it in the log."""
    service = with_subscriptions(start_service, allowed)
    company = service.new_company()
    client = service.client.using(service.tokens.issue(SCOPES))
    url = f"https://localhost:{free_port()}/hook"
    sent = wanted(receiver, company, notificationUrl=url)
    message = refused(client.post("subscriptions", sent), 400, "BadRequest")
    assert "cannot be reached, or its address is not a global one" in message
    assert "127.0.0.1" not in message
    assert "::1" not in message
    assert reason in caplog.text


@ON_SQLITE
@together(
    ("changed", "code", "problem"),
    [
        ({"notificationUrl": None}, "BadRequest_RequiredParamNotProvided", "is required"),
        ({"resource": ""}, "BadRequest_RequiredParamNotProvided", "is required"),
        ({"resource": 7}, "BadRequest", "is a number, not a text"),
        ({"clientState": ["a"]}, "BadRequest", "is an array, not a text"),
        ({"clientState": "a" * 2_049}, "BadRequest", "exceeds the limit of 2048 characters"),
        ({"clientState": "a\0"}, "BadRequest", "contains NUL"),
        ({"secret": "x"}, "BadRequest", "The property 'secret' does not exist"),
    ],
)
def test_a_body_that_is_not_valid(
    changed: dict[str, object],
    code: str,
    problem: str,
    company: Company,
    root: Client,
    receiver: Receiver,
) -> None:
    response = root.post("subscriptions", wanted(receiver, company, **changed))
    assert problem in refused(response, 400, code)
    assert receiver.handshakes == []


@ON_SQLITE
def test_read_only_properties_of_a_body_are_ignored(
    company: Company, root: Client, receiver: Receiver
) -> None:
    added = subscribed(root.post("subscriptions", wanted(receiver, company, subscriptionId="x")))
    renewed = subscribed(root.patch(path_of(added), added, added["@odata.etag"]), 200)
    assert renewed["subscriptionId"] == added["subscriptionId"] != "x"


def test_a_write_needs_the_tag(company: Company, root: Client, receiver: Receiver) -> None:
    path = path_of(subscribed(root.post("subscriptions", wanted(receiver, company))))
    for response in (root.patch(path, {}), root.delete(path)):
        refused(response, 400, "BadRequest_InvalidToken")
    for response in (root.patch(path, {}, 'W/"7"'), root.delete(path, 'W/"7"')):
        refused(response, 409, "Request_EntityChanged")
    other = {"resource": f"companies({company.id})/itemsExt"}
    message = refused(root.patch(path, other, "*"), 400, "BadRequest")
    assert message.startswith("The resource of a subscription cannot be changed.")
    same = {"resource": f"companies({company.id})/contactsExt"}
    assert root.patch(path, same, "*").status_code == 200
    assert root.delete(path, "*").status_code == 204


@ON_SQLITE
def test_methods_and_paths(root: Client) -> None:
    absent = f"subscriptions('{ABSENT}')"
    assert root.request("HEAD", "subscriptions").status_code == 200
    for method, path in (("PATCH", "subscriptions"), ("PUT", absent), ("POST", absent)):
        refused(root.request(method, path, body={}), 405, "BadRequest_MethodNotAllowed")
    for path in (absent, "subscriptions('a')", "subscriptions(subscriptionId='a')"):
        refused(root.get(path), 404, "BadRequest_ResourceNotFound")
    refused(root.get("subscriptions(other='a')"), 404, "BadRequest_NotFound")
    refused(root.get("subscriptions/$count"), 404, "BadRequest_ResourceNotFound")
    refused(root.get("subscriptionsExt"), 404, "BadRequest_ResourceNotFound")
    refused(root.get("subscriptions", "$filter=a eq 1"), 400, "BadRequest_InvalidRequestUrl")
    assert root.get("subscriptions", "$format=json").status_code == 200


def test_each_client_has_its_own(
    service: Service, company: Company, root: Client, receiver: Receiver
) -> None:
    added = subscribed(root.post("subscriptions", wanted(receiver, company)))
    foreign = [
        root.using(service.tokens.issue(SCOPES, [company.id], subject="another")),
        root.using(service.tokens.issue(SCOPES, [], subject=company.id)),
    ]
    for client in foreign:
        assert client.get("subscriptions").json()["value"] == []
        for method in ("GET", "PATCH", "DELETE"):
            response = client.request(method, path_of(added), headers={"If-Match": "*"}, body={})
            refused(response, 404, "BadRequest_ResourceNotFound")


def test_the_scopes_and_rights_of_a_client(
    service: Service, company: Company, root: Client, receiver: Receiver
) -> None:
    for scopes in ((Scope.RECORDS_READ,), (Scope.EVENTS,), (Scope.RECORDS_WRITE,)):
        client = root.using(service.tokens.issue(scopes))
        for response in (client.get("subscriptions"), client.post("subscriptions", {})):
            refused(response, 403, "Authorization_RequestDenied")
    roles = {"reader": {"contactsExt": "R"}, "writer": {"contactsExt": "IMD", "*": "R"}}
    tokens = tokens_of_roles(service, roles, frozenset({Scope.RECORDS_READ, Scope.EVENTS}))
    reader, writer = root.using(tokens["reader"]), root.using(tokens["writer"])
    subscribed(reader.post("subscriptions", wanted(receiver, company)))
    response = writer.post("subscriptions", wanted(receiver, company))
    assert "(TableData 5050 Contact Read: App)" in refused(response, 403, "Internal_ServerError")


COPIES = (
    "INSERT INTO subscriptions (company_id, id, owner, url, sets, resource, client_state, version,"
    " expires_at, created_at, modified_at) WITH RECURSIVE copies(number) AS"
    " (SELECT 2 UNION ALL SELECT number + 1 FROM copies WHERE number < 48)"
    " SELECT company_id, id || '-' || number, owner, url, sets, resource, client_state, version,"
    " expires_at, created_at, modified_at FROM subscriptions, copies WHERE owner = :owner"
)
"""Makes 48 subscriptions of each one of a client."""


def test_there_are_up_to_200_subscriptions(start_service: StartService, receiver: Receiver) -> None:
    """In all companies together, half of them of one client; a deleted one makes room.

    Requests at the same time have no more room than others.
    """
    service = with_subscriptions(start_service)
    first, second, third = (
        service.client.using(service.tokens.issue(SCOPES, subject=each)) for each in "ABC"
    )
    one, other = service.new_company(), service.new_company()
    for client, owner in ((first, "A"), (second, "B")):
        for company in (one, other):
            last = subscribed(client.post("subscriptions", wanted(receiver, company)))
        run_sql(service.settings.database, COPIES, owner=owner)
        at_once = [
            client.build("POST", "subscriptions", body=wanted(receiver, company))
            for company in (one, other) * 5
        ]
        answers = service.send_all(at_once)
        assert sorted(each.status_code for each in answers) == [201] * 4 + [400] * 6
        message = refused(client.post("subscriptions", wanted(receiver, one)), 400, "BadRequest")
        assert message.startswith("The client has 100 subscriptions already. Delete one")
    assert len(first.get("subscriptions").json()["value"]) == 100
    message = refused(third.post("subscriptions", wanted(receiver, one)), 400, "BadRequest")
    assert message.startswith("The service has 200 subscriptions already. Delete one")
    assert second.delete(path_of(last), "*").status_code == 204
    subscribed(third.post("subscriptions", wanted(receiver, one)))


@ON_SQLITE
def test_a_batch_reaches_the_subscriptions(
    company: Company, root: Client, receiver: Receiver
) -> None:
    headers = {"Content-Type": "application/json"}
    body = wanted(receiver, company)
    part = {"id": "1", "method": "POST", "url": "subscriptions", "headers": headers, "body": body}
    (reply,) = root.post("$batch", {"requests": [part]}).json()["responses"]
    assert reply["status"] == 201


@ON_SQLITE
def test_plain_http_is_refused_unless_the_operator_allows_it(
    start_service: StartService, receiver: Receiver
) -> None:
    service = start_service(profile="business-central")
    root = service.client.using(service.tokens.issue(SCOPES))
    response = root.post("subscriptions", wanted(receiver, service.new_company()))
    assert "does not start with https://" in refused(response, 400, "BadRequest")
    assert receiver.handshakes == []


@ON_SQLITE
@pytest.mark.parametrize("path", ["v2.0/Production/api/v2.0", "BC/api/beta"])
def test_every_address_of_the_api_has_subscriptions(
    path: str, service: Service, company: Company, root: Client, receiver: Receiver
) -> None:
    """Links and resources have the form that the client has used."""
    other = replace(root, root=f"{service.origin.root}/{path}")
    resource = f"companies({company.id})/contactsExt"
    response = other.post("subscriptions", wanted(receiver, company, resource=resource))
    added = subscribed(response)
    assert added["resource"] == f"{path}/{resource}"
    assert response.headers["location"] == f"{other.root}/{path_of(added)}"
    assert subscribed(other.get(path_of(added)), 200) == added
    absolute = wanted(receiver, company, resource=f"{other.root}/{resource}")
    assert subscribed(root.post("subscriptions", absolute))["resource"] == added["resource"]
    assert len(root.get("subscriptions").json()["value"]) == 2
