"""Deltas report each change once, whatever is written in between."""

from collections.abc import Mapping

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.client import Record, encoded
from support.companies import Company
from support.effort import examples
from support.mirror import Mirror
from support.samples import PATHS, READ_ONLY
from support.service import Service
from support.together import together

TRACK = {"Prefer": "odata.track-changes"}
AGENTS = "shippingAgentsExt"


def actual(company: Company, query: str = "") -> dict[str, Record]:
    return {
        f"{company.root}/{AGENTS}({each['id']})": each for each in company.listed(AGENTS, query)
    }


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
