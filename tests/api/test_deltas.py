"""Deltas report each change once, whatever is written in between."""

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.client import Record, encoded
from support.companies import Company
from support.effort import examples
from support.mirror import Mirror
from support.refusals import refusal
from support.samples import PATHS, READ_ONLY
from support.service import Service, StartService
from support.together import together

TRACK = {"Prefer": "odata.track-changes"}
AGENTS = "shippingAgentsExt"


def agent(company: Company, code: str, name: str = "") -> Record:
    record: Record = company.post(AGENTS, {"code": code, "name": name}).json()
    return record


def actual(company: Company, query: str = "") -> dict[str, Record]:
    return {
        f"{company.root}/{AGENTS}({each['id']})": each for each in company.listed(AGENTS, query)
    }


def test_nothing_changed_is_an_empty_delta_with_a_link(company: Company) -> None:
    agent(company, "A")
    mirror = Mirror(company, AGENTS)

    mirror.catch_up()

    assert (mirror.reported, mirror.records) == ([], actual(company))


def test_creates_updates_and_deletes_are_reported_once(company: Company) -> None:
    kept, changed, gone = (agent(company, code) for code in "ABC")
    mirror = Mirror(company, AGENTS)
    path = f"{AGENTS}({changed['id']})"
    for name in ("once", "twice", "three times"):
        company.patch(path, {"name": name}, "*")
    company.request("DELETE", f"{AGENTS}({gone['id']})", headers={"If-Match": "*"})
    created = agent(company, "D")

    mirror.catch_up()

    ids = [changed["id"], gone["id"], created["id"]]
    assert mirror.reported == [f"{company.root}/{AGENTS}({each})" for each in ids]
    assert mirror.records == actual(company)
    assert f"{company.root}/{AGENTS}({kept['id']})" in mirror.records


def test_a_delta_has_the_context_of_its_parts(company: Company) -> None:
    gone = agent(company, "A")
    link = company.get(AGENTS, headers=TRACK).json()["@odata.deltaLink"]
    company.request("DELETE", f"{AGENTS}({gone['id']})", headers={"If-Match": "*"})

    body = company.follow(link).json()

    base = company.root.partition("/companies")[0]
    context = f"{base}/$metadata#companies({company.id})/{AGENTS}"
    assert body["@odata.context"] == f"{context}/$delta"
    removed = {
        "@odata.context": f"{context}/$deletedEntity",
        "id": f"{company.root}/{AGENTS}({gone['id']})",
        "reason": "deleted",
    }
    assert body["value"] == [removed]


def test_a_record_created_and_deleted_in_between_is_at_most_reported_as_removed(
    company: Company,
) -> None:
    mirror = Mirror(company, AGENTS)
    brief = agent(company, "A")
    company.request("DELETE", f"{AGENTS}({brief['id']})", headers={"If-Match": "*"})

    mirror.catch_up()

    assert mirror.records == {}


def test_a_record_that_leaves_the_filter_is_removed_and_one_that_enters_is_reported(
    company: Company,
) -> None:
    leaving, entering = agent(company, "A", "in"), agent(company, "B", "out")
    agent(company, "C", "out")
    mirror = Mirror(company, AGENTS, encoded({"$filter": "name eq 'in'"}))
    company.patch(f"{AGENTS}({leaving['id']})", {"name": "out"}, "*")
    company.patch(f"{AGENTS}({entering['id']})", {"name": "in"}, "*")

    entry = company.follow(mirror.link).json()["value"][0]
    mirror.catch_up()

    assert entry["reason"] == "changed"
    assert mirror.records == actual(company, encoded({"$filter": "name eq 'in'"}))


@pytest.mark.parametrize("page_size", [1, 2, 3, 7])
def test_a_delta_has_pages(page_size: int, company: Company) -> None:
    agents = [agent(company, f"{number}") for number in range(7)]
    mirror = Mirror(company, AGENTS, page_size=page_size)
    assert len(mirror.reported) == 7
    for each in agents:
        company.patch(f"{AGENTS}({each['id']})", {"name": "new"}, "*")

    mirror.catch_up()

    assert len(mirror.reported) == len(set(mirror.reported)) == 7
    assert mirror.records == actual(company)


def test_changes_during_the_first_read_are_reported_once(company: Company) -> None:
    agents = sorted((agent(company, f"{number}") for number in range(4)), key=lambda a: a["id"])
    first = company.get(AGENTS, headers={"Prefer": "odata.track-changes,odata.maxpagesize=2"})
    company.patch(f"{AGENTS}({agents[3]['id']})", {"name": "meanwhile"}, "*")
    created = agent(company, "new")

    rest = company.follow(first.json()["@odata.nextLink"]).json()
    changed = company.follow(rest["@odata.deltaLink"]).json()["value"]

    shown = [each["id"] for each in [*first.json()["value"], *rest["value"]]]
    assert shown == [each["id"] for each in agents[:3]]
    assert [each["id"] for each in changed] == [agents[3]["id"], created["id"]]


def test_changes_during_a_delta_are_left_to_the_next(company: Company) -> None:
    first, second = agent(company, "A"), agent(company, "B")
    link = company.get(AGENTS, headers=TRACK).json()["@odata.deltaLink"]
    for each in (first, second):
        company.patch(f"{AGENTS}({each['id']})", {"name": "new"}, "*")
    page = company.follow(link, {"Prefer": "odata.maxpagesize=1"}).json()
    company.patch(f"{AGENTS}({second['id']})", {"name": "newer"}, "*")

    rest = company.follow(page["@odata.nextLink"]).json()
    last = company.follow(rest["@odata.deltaLink"]).json()

    reported = [[each["id"] for each in body["value"]] for body in (page, rest, last)]
    assert reported == [[first["id"]], [], [second["id"]]]


def test_changes_of_other_sets_and_companies_are_not_reported(
    service: Service, company: Company
) -> None:
    other = service.new_company()
    mirror = Mirror(company, AGENTS)
    agent(other, "A")
    company.post("itemsExt", {"number": "1"})

    mirror.catch_up()

    assert mirror.reported == []


@together("resource", READ_ONLY)
def test_loaded_records_are_reported(resource: str, company: Company, stocked: Company) -> None:
    link = company.get(resource, headers=TRACK).json()["@odata.deltaLink"]
    sample = {
        name: value
        for name, value in stocked.record(PATHS[resource]).items()
        if not name.startswith("@")
    }
    company.load(resource, sample)

    reported = company.follow(link).json()["value"]

    assert [{name: each[name] for name in sample} for each in reported] == [sample]


@together(
    ("path", "query"),
    [
        (AGENTS, "$top=1"),
        (AGENTS, "$orderby=code"),
        ("filteredItemAttributesExt", ""),
        ("filteredItemAttributesExt", "$filter=attributeName1 eq 'x'"),
    ],
)
def test_untracked_collections_have_no_delta_link(path: str, query: str, company: Company) -> None:
    answer = company.get(path, query, TRACK)

    assert "preference-applied" not in answer.headers
    assert "@odata.deltaLink" not in answer.json()


def test_a_delta_link_of_another_query_is_refused(service: Service, company: Company) -> None:
    link = company.get(AGENTS, headers=TRACK).json()["@odata.deltaLink"]
    token = link.partition("$deltatoken=")[2]
    other = service.new_company()

    for reader, path, query in [
        (company, AGENTS, f"$filter=code eq 'A'&$deltatoken={token}"),
        (company, "itemsExt", f"$deltatoken={token}"),
        (other, AGENTS, f"$deltatoken={token}"),
        (company, AGENTS, f"$deltatoken={token[:-1]}"),
        (company, AGENTS, f"$deltatoken=A{token[1:]}"),
        (company, AGENTS, "$deltatoken=x"),
        (company, AGENTS, "$deltatoken="),
        (company, AGENTS, "$deltatoken=%00"),
        (company, "filteredItemAttributesExt", f"$deltatoken={token}"),
        (service.client, "companies", f"$deltatoken={token}"),
    ]:
        refusal(reader.get(path, query), "BadRequest_InvalidRequestUrl")


def test_a_delta_link_expires(start_service: StartService) -> None:
    service = start_service(delta_seconds=1e-9)
    company = service.new_company()
    link = company.get(AGENTS, headers=TRACK).json()["@odata.deltaLink"]
    answer = company.follow(link)

    assert "Prefer: odata.track-changes" in refusal(answer, "Request_LinkExpired").message


CHANGES = st.lists(
    st.tuples(st.sampled_from(["create", "update", "delete", "read"]), st.integers(0, 5)),
    max_size=30,
)


@settings(
    max_examples=examples(25),
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(changes=CHANGES, page_size=st.integers(1, 4))
def test_a_client_that_follows_deltas_has_the_current_records(
    changes: list[tuple[str, int]], page_size: int, service: Service
) -> None:
    company = service.new_company()
    wanted = encoded({"$filter": "length(name) ne 3"})
    mirrors = [
        Mirror(company, AGENTS, page_size=page_size),
        Mirror(company, AGENTS, wanted, page_size),
    ]
    ids: Mapping[int, str] = {
        number: f"{number:08d}-0000-4000-8000-000000000000" for number in range(6)
    }
    for step, (verb, number) in enumerate(changes):
        path = f"{AGENTS}({ids[number]})"
        if verb == "create":
            company.post(AGENTS, {"id": ids[number], "code": f"{number}", "name": "abc"})
        elif verb == "update":
            company.patch(path, {"name": "x" * (step % 5)}, "*")
        elif verb == "delete":
            company.request("DELETE", path, headers={"If-Match": "*"})
        else:
            for mirror in mirrors:
                mirror.catch_up()
                assert len(mirror.reported) == len(set(mirror.reported))
    for mirror, query in zip(mirrors, ["", wanted], strict=True):
        mirror.catch_up()
        assert mirror.records == actual(company, query)
