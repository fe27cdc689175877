"""What roles allow, in the cases that the matrix of sets and verbs does not contain."""

from uuid import uuid4

from comptoir.auth.tokens import Scope
from support.batches import documents
from support.client import record, values
from support.companies import Company
from support.refusals import error_in, refusal
from support.repeats import repeatable, result
from support.roles import apply_roles, tokens_of_roles
from support.samples import SHIPPING_AGENT
from support.service import Service, StartService
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
DENIED = "Authorization_RequestDenied"


def with_role(company: Company, service: Service, **letters: str) -> Company:
    """The same company for a client with one role; `others` are the letters of other sets."""
    if "others" in letters:
        letters["*"] = letters.pop("others")
    name = f"role-{uuid4()}"
    return company.using(tokens_of_roles(service, {name: letters})[name])


def test_the_message_names_the_set_and_what_is_missing(stocked: Company, service: Service) -> None:
    client = with_role(stocked, service, itemsExt="R")

    assert refusal(client.get("contactsExt"), DENIED).message == (
        "The roles of the client do not allow reading contactsExt. "
        "Ask the operator for a role that allows it."
    )
    answer = client.get("itemsExt", "$filter=number ne '' and prices/any(p:p/unitPrice gt 1)")
    error = refusal(answer, DENIED, "$filter")
    assert "reading salesPricesExt at column 18 of $filter" in error.message
    answer = client.get("itemsExt", "$expand=prices,translations")
    assert "at column 1 of $expand" in refusal(answer, DENIED, "$expand").message


def test_a_role_for_other_sets_does_not_apply_to_those_that_it_names(
    stocked: Company, service: Service
) -> None:
    client = with_role(stocked, service, contactsExt="", others="R")

    refusal(client.get("contactsExt"), DENIED)
    assert values(client.get("itemsExt"))


def test_the_list_of_companies_needs_no_role(stocked: Company, service: Service) -> None:
    client = with_role(stocked, service)

    found = client.carrier.send(
        service.client.using(client.token).build("GET", "companies", {"$top": 1})
    )

    assert found.status_code == 200
    assert client.get("").json()["id"] == stocked.id
    refusal(client.get("", "$expand=contactsExt"), DENIED, "$expand")


def test_a_change_set_with_one_write_that_a_role_lacks_changes_nothing(
    own_stock: Company, service: Service
) -> None:
    client = with_role(own_stock, service, shippingAgentsExt="M")
    changes = len(own_stock.changes())

    update = {"method": "PATCH", "url": AGENT, "headers": {"If-Match": "*"}, "body": {"name": "x"}}
    create = {"method": "POST", "url": "shippingAgentsExt", "body": {"code": "NEW"}}
    group = {"atomicityGroup": "g"}
    found = documents(client, {"id": "1", **group, **update}, {"id": "2", **group, **create})

    assert {each.status for each in found.values()} & {403}
    assert not {each.status for each in found.values()} & {200, 201, 204}
    assert len(own_stock.changes()) == changes


def test_a_repeated_write_shows_the_record_to_readers_only(
    own_stock: Company, service: Service
) -> None:
    """The stored outcome of the first request is shown by the rights of the second one."""
    role = f"role-{uuid4()}"
    client = own_stock.using(tokens_of_roles(service, {role: {"*": "RM"}})[role])
    headers = repeatable(Repeatability_Client_ID=str(uuid4()))
    first = client.patch(AGENT, {"name": "once"}, "*", headers)
    assert record(first)["name"] == "once"
    changes = len(own_stock.changes())

    apply_roles(service, {role: {"*": "M"}})
    with_role(own_stock, service)
    again = client.patch(AGENT, {"name": "once"}, "*", headers)

    assert (again.status_code, again.content) == (204, b"")
    assert result(again) == "accepted"
    assert len(own_stock.changes()) == changes


@together("scope", [Scope.RECORDS_READ, Scope.RECORDS_WRITE, Scope.ADMIN])
def test_scopes_bound_what_roles_give_and_roles_what_scopes_give(
    scope: Scope, own_stock: Company, service: Service
) -> None:
    role = f"role-{uuid4()}"
    tokens = tokens_of_roles(service, {role: {"shippingAgentsExt": "RM"}}, frozenset({scope}))
    client = own_stock.using(tokens[role])

    reads, writes = client.get(AGENT), client.patch(AGENT, {"name": "x"}, "*")

    assert reads.status_code == (403 if scope is Scope.RECORDS_WRITE else 200)
    assert writes.status_code == (403 if scope is Scope.RECORDS_READ else 200)
    assert client.get("contactsExt").status_code == 403
    assert client.delete(AGENT, "*").status_code == 403


def test_a_write_by_an_alternate_key_does_not_reveal_the_key(
    own_stock: Company, service: Service
) -> None:
    client = with_role(own_stock, service, shippingAgentsExt="M")

    for prefer in ("return=minimal", "return=representation"):
        answer = client.patch(
            "shippingAgentsExt(code='DHL')", {"name": prefer}, "*", {"Prefer": prefer}
        )

        assert (answer.status_code, answer.content) == (204, b"")
        assert SHIPPING_AGENT not in str(answer.headers)
        assert "preference-applied" not in answer.headers
    assert own_stock.record(AGENT)["name"] == "return=representation"


def test_refusals_do_not_show_or_confirm_values_to_a_client_that_may_not_read(
    start_service: StartService,
) -> None:
    service = start_service(profile="business-central")
    company = service.new_company()
    agent = record(company.post("shippingAgentsExt", {"code": "SECRET", "name": "x"}), 201)
    item = {"itemNo": "SECRET", "languageCode": "ENU"}
    company.post("itemsExt", {"number": "SECRET"})
    company.post("itemTranslationsExt", {**item, "languageCode": "DES"})
    text = record(company.post("itemTranslationsExt", item), 201)
    contact = record(company.post("contactsExt", {"displayName": "x", "number": "SECRET"}), 201)
    client = with_role(company, service, others="M")
    path = f"contactsExt({contact['id']})"

    changed = contact["lastModifiedDateTime"]
    guesses = [changed, "2020-01-01T00:00:00Z"]
    answers = [client.patch(path, {"lastModifiedDateTime": each}, "*") for each in guesses]
    problem = "Control 'lastModifiedDateTime' is read-only.  "
    for each in answers:
        assert each.status_code == 400
        assert error_in(each.content).message.startswith(problem)
    assert company.patch(path, {"lastModifiedDateTime": changed}, "*").status_code == 200

    for where, sent in (
        (f"shippingAgentsExt({agent['id']})", {"code": ""}),
        (path, {"phoneNumber": "a"}),
        (f"itemTranslationsExt({text['id']})", {"languageCode": "DES"}),
    ):
        for writer, is_shown in ((client, False), (company, True)):
            answer = writer.patch(where, sent, "*")
            assert answer.status_code == 400
            message = error_in(answer.content).message
            assert ("SECRET" in message) is is_shown
            assert ("…" in message) is not is_shown


def test_an_update_with_the_tag_in_the_body_needs_the_right_to_modify(
    own_stock: Company, service: Service
) -> None:
    tag = own_stock.record(AGENT)["@odata.etag"]
    body = {"@odata.etag": tag, "name": "x"}

    refusal(with_role(own_stock, service, others="RID").patch(AGENT, body), DENIED)
    assert record(with_role(own_stock, service, others="RM").patch(AGENT, body))["name"] == "x"


def test_roles_are_judged_after_the_scope_and_before_the_media_type(
    own_stock: Company, service: Service
) -> None:
    role = f"role-{uuid4()}"
    reads = frozenset({Scope.RECORDS_READ})
    reader = own_stock.using(tokens_of_roles(service, {role: {}}, reads)[role])
    nobody = with_role(own_stock, service)
    text = {"Content-Type": "text/plain"}

    assert "scope" in refusal(reader.patch(AGENT, b"x", "*", text), DENIED).message
    refusal(reader.post(AGENT, {}), "BadRequest_MethodNotAllowed")
    assert "roles" in refusal(nobody.patch(AGENT, b"x", "*", text), DENIED).message
    assert "roles" in refusal(nobody.patch(AGENT, b"{"), DENIED).message
    refusal(nobody.post("customersExt", {}), "BadRequest_MethodNotAllowed")
    refusal(nobody.get("nothingExt"), "BadRequest_ResourceNotFound")
