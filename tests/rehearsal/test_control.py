"""The control endpoint: its scope, its refusals, and the page that lists the rules."""

from datetime import UTC, datetime, timedelta

from comptoir.auth.tokens import Scope
from comptoir.edm.times import instant
from comptoir.features.rehearsal.rules import PRESETS
from support.command import COMPANY
from support.databases import ON_SQLITE
from support.rehearsal import Rehearsal, Rule, control_of
from support.service import Service
from support.together import together

OF_ALL_COMPANIES = [
    *(("PUT", "faults"), ("DELETE", "faults"), ("GET", "faults/report"), ("POST", "faults/mark")),
    *(("POST", "faults/reset"), ("POST", "faults/clock")),
]
PATHS = [
    *(("GET", "faults"), ("POST", "faults/rules"), ("DELETE", "faults/rules/r")),
    *(("GET", "faults/log"), ("GET", "faults/requests"), *OF_ALL_COMPANIES),
]

pytestmark = ON_SQLITE  # rules are in memory


@together(("method", "path"), PATHS)
def test_each_address_needs_the_scope(method: str, path: str, faulty: Service) -> None:
    both = faulty.origin.using(faulty.tokens.issue([Scope.RECORDS_READ, Scope.RECORDS_WRITE]))
    refused = both.request(method, path)
    assert refused.status_code == 403
    assert "faults" in refused.headers["www-authenticate"]
    assert faulty.origin.request(method, path).status_code == 401
    only = faulty.client.using(faulty.tokens.issue([Scope.FAULTS]))
    assert only.get("companies").status_code == 403
    admin = faulty.origin.using(faulty.tokens.issue([Scope.ADMIN]))
    assert admin.request(method, path).status_code in (200, 204, 400, 404)


@together(("method", "path"), OF_ALL_COMPANIES)
def test_what_concerns_all_companies_needs_a_token_for_all(
    method: str, path: str, faulty: Service
) -> None:
    control = control_of(faulty, [faulty.new_company().id])
    refused = control.client.request(method, path.removeprefix("faults").lstrip("/"), body={})
    assert refused.status_code == 403
    assert refused.json()["error"]["message"] == (
        "This concerns all companies, and the token can access some of them. "
        "Use a token for all companies."
    )


def test_a_token_for_a_company_sees_and_changes_only_this_company(
    faulty: Service, rehearsal: Rehearsal
) -> None:
    own, other = faulty.new_company(), faulty.new_company()
    control = control_of(faulty, [own.id])
    rehearsal.set({"id": "all", "fault": "throttle", "match": {"client": "both"}, "times": 1})
    about_other = {"id": "other", "fault": "vanish", "match": {"company": other.id}}
    assert rehearsal.client.post("rules", about_other).status_code == 201
    for match in ({}, {"path": f"*/companies({own.id})/*"}, {"company": other.id}):
        refused = control.client.post("rules", {"fault": "touch", "match": match})
        assert refused.status_code == 403
        assert refused.json()["error"]["target"] == "match.company"
    rule: Rule = {"id": "own", "fault": "token-expired; by=service", "match": {"company": own.id}}
    upper = {**rule, "match": {"company": own.id.upper()}}
    assert control.client.post("rules", upper).json() == rule
    assert control.client.get("").json() == {"rules": [rule]}
    assert control.client.request("DELETE", "rules/other").status_code == 404

    # a client of both companies, whose token ends for one of them
    token = faulty.tokens.issue(subject="both")
    for company, statuses in ((own, [429, 401, 401]), (other, [404, 404])):
        client = company.using(token)
        assert [
            client.post("contactsExt", {"displayName": company.id}).status_code for _ in statuses
        ] == statuses
    part = {"id": "1", "method": "GET", "url": f"companies({own.id})/contactsExt"}
    assert faulty.client.post("$batch", {"requests": [part]}).status_code == 200

    assert [each.company for each in control.requests()] == [own.id] * 3
    assert {each.company for each in rehearsal.requests()} >= {own.id, other.id, ""}
    assert [(each.rule, each.company) for each in control.firings()] == [
        ("all", own.id),
        *[("own", own.id)] * 3,
    ]
    assert other.id not in str(control.requests())
    assert control.client.request("DELETE", "rules/own").status_code == 204
    assert own.using(token).get("contactsExt").status_code == 200


def test_rules_are_replaced_added_and_removed(rehearsal: Rehearsal) -> None:
    match = {"method": "GET", "path": "/a*", "set": "itemsExt", "client": "c", "nth": 3}
    first = {"id": "one", "fault": "throttle; retry-after=2", "match": match, "times": 4}
    second = {"id": "two", "fault": "vanish", "probability": 0.5, "seed": 9}
    assert rehearsal.set(first).json() == {"rules": [first]}
    added = rehearsal.client.post("rules", second)
    assert (added.status_code, added.json()) == (201, second)
    assert rehearsal.client.get("").json() == {"rules": [first, second]}
    third = rehearsal.client.post("rules", {"fault": "lock"})
    assert third.json() == {"id": "rule-2", "fault": "lock"}
    removed = rehearsal.client.request("DELETE", "")
    assert (removed.status_code, removed.json()) == (200, {"rules": []})


def test_one_rule_is_removed_and_the_others_go_on_counting(rehearsal: Rehearsal) -> None:
    rehearsal.set({"id": "two", "fault": "vanish"}, {"id": "rule-1", "fault": "throttle"})
    assert rehearsal.client.request("DELETE", "rules/two").status_code == 204
    assert rehearsal.client.request("DELETE", "rules/two").status_code == 404
    # its default id is taken
    third = rehearsal.client.post("rules", {"fault": "lock"})
    assert third.json()["id"] == "rule-2"
    listed = rehearsal.client.get("").json()["rules"]
    assert [each["id"] for each in listed] == ["rule-1", "rule-2"]


def test_a_rule_that_is_added_again_counts_from_the_start(
    faulty: Service, rehearsal: Rehearsal
) -> None:
    agents = faulty.new_company()
    once = {"id": "once", "fault": "vanish", "times": 1}
    rehearsal.set(once, {"id": "third", "fault": "throttle", "match": {"nth": 3}})
    statuses = [agents.get("shippingAgentsExt").status_code for _ in range(2)]
    assert rehearsal.client.request("DELETE", "rules/once").status_code == 204
    assert rehearsal.client.post("rules", once).status_code == 201
    statuses += [agents.get("shippingAgentsExt").status_code for _ in range(2)]
    # the other rule goes on counting
    assert statuses == [404, 200, 429, 404]


def test_a_rule_ends_by_itself(faulty: Service, rehearsal: Rehearsal) -> None:
    """By the clock of the service; its tokens are valid again, and its id is free.

    Until then, readiness names it.
    """
    agents, ready = faulty.new_company(), "ready\nfaults: on\n"
    assert faulty.origin.get("readyz").text == ready
    until = instant(datetime.now(UTC) + timedelta(minutes=10))
    rule: Rule = {"id": "r", "fault": "token-expired; by=service", "until": until}
    assert rehearsal.set(rule).json() == {"rules": [rule]}
    assert agents.get("shippingAgentsExt").status_code == 401
    assert faulty.origin.get("readyz").text == f"{ready}faults: rule r: {rule['fault']}\n"

    rehearsal.advance("PT9M")
    assert agents.get("shippingAgentsExt").status_code == 401
    rehearsal.advance("PT2M")
    assert agents.get("shippingAgentsExt").status_code == 200
    assert rehearsal.client.get("").json() == {"rules": []}
    assert faulty.origin.get("readyz").text == ready
    again = rehearsal.client.post("rules", {"id": "r", "fault": "vanish"})
    assert again.status_code == 201
    assert agents.get("shippingAgentsExt").status_code == 404
    rehearsal.client.post("reset", {})


def test_a_preset_and_rules_have_the_given_seed(rehearsal: Rehearsal) -> None:
    for name, faults in PRESETS.items():
        body = {"preset": name, "seed": 7}
        listed = rehearsal.client.request("PUT", "", body=body).json()["rules"]
        assert [each["fault"] for each in listed] == [each.fault.text for each in faults]
        assert {each["seed"] for each in listed} == {7}
        assert len({each["id"] for each in listed}) == len(listed)
        # what is listed can be sent again
        assert rehearsal.set(*listed).json() == {"rules": listed}
    rules = [{"fault": "lock"}, {"fault": "vanish", "seed": 8}]
    listed = rehearsal.client.request("PUT", "", body={"rules": rules, "seed": 7}).json()["rules"]
    assert [each["seed"] for each in listed] == [7, 8]


@together(
    ("rule", "place"),
    [
        ({"fault": "throttl"}, "rules[0].fault"),
        ({"fault": "lock", "match": {"company": "CRONUS"}}, "rules[0].match.company"),
        ({"fault": "vanish", "until": "tomorrow"}, "rules[0].until"),
        # a window is not about one company
        ({"fault": "away; window=60", "match": {"company": COMPANY}}, "rules[0].fault"),
        ({"fault": "touch; field=nothing"}, "rules[0].fault"),
        ({"fault": "touch; field=city", "match": {"set": "itemsExt"}}, "rules[0].fault"),
        ({"fault": "touch; field=code", "match": {"set": "shippingAgentsExt"}}, "rules[0].fault"),
        ({"fault": "touch; field=name2", "match": {"set": "customersExt"}}, "rules[0].fault"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_place(
    rule: dict[str, object], place: str, rehearsal: Rehearsal
) -> None:
    rehearsal.set("throttle")
    refused = rehearsal.client.request("PUT", "", body={"rules": [rule]})
    assert (refused.status_code, refused.json()["error"]["target"]) == (400, place)
    added = rehearsal.client.post("rules", rule)
    assert added.json()["error"]["target"] == place.removeprefix("rules[0].")
    # the rules that were in force remain
    assert [each["id"] for each in rehearsal.client.get("").json()["rules"]] == ["r"]


def test_rules_that_are_added_at_once_have_distinct_ids_and_one_limit(rehearsal: Rehearsal) -> None:
    rehearsal.set(*[dict[str, object](fault="lock")] * 85)
    assert rehearsal.client.post("rules", {"id": "rule-7", "fault": "lock"}).status_code == 409
    adding = [rehearsal.client.build("POST", "rules", body={"fault": "lock"}) for _ in range(20)]
    answers = rehearsal.client.carrier.send_all(adding)
    assert sorted(each.status_code for each in answers) == [201] * 15 + [400] * 5
    listed = [each["id"] for each in rehearsal.client.get("").json()["rules"]]
    assert listed == [f"rule-{number}" for number in range(100)]


def test_the_clock_moves_only_on(rehearsal: Rehearsal) -> None:
    """By up to 366 days in sum."""
    assert rehearsal.advance("PT8M0.5S").json() == {"aheadSeconds": 480.5}
    for advance in ("-PT1S", "PT0S", "1", "8 minutes", "P1Y", "P366D", None, 8):
        refused = rehearsal.advance(advance)
        assert (refused.status_code, refused.json()["error"]["target"]) == (400, "advance")
    assert rehearsal.advance("P365D").status_code == 200
    assert rehearsal.advance("P1D").status_code == 400
    rehearsal.client.post("reset", {})
