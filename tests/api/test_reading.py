"""Reading one record: its address, its formats, its links."""

from collections.abc import Mapping

from support.client import record, tag_of
from support.companies import Company
from support.contract import without_control
from support.samples import PATHS, SAMPLES, SHIPPING_AGENT
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"


@together("resource", PATHS)
def test_a_record_has_its_context_and_tag(resource: str, stocked: Company) -> None:
    answer = stocked.get(PATHS[resource])

    read = record(answer)
    base = stocked.root.partition("/companies")[0]
    assert read["@odata.context"] == f"{base}/$metadata#companies({stocked.id})/{resource}/$entity"
    assert read["@odata.etag"] == tag_of(answer)
    assert answer.headers["odata-version"] == "4.0"
    assert answer.headers["content-length"] == str(len(answer.content))


@together("level", ["none", "minimal", "full"])
@together("form", ["application/json;odata.metadata={}", "application/json; metadata={}"])
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


@together("path", [AGENT, "shippingAgentsExt"])
def test_head_has_the_headers_of_get(path: str, stocked: Company) -> None:
    read, head = stocked.get(path), stocked.request("HEAD", path)

    assert head.status_code == 200
    for name in read.headers.keys() - {"x-request-id"}:
        assert head.headers[name] == read.headers[name]


def test_every_response_has_a_different_id(stocked: Company) -> None:
    ids = {stocked.get(AGENT).headers["x-request-id"] for _ in range(20)}

    assert len(ids) == 20


def test_a_company_lists_its_sets(company: Company) -> None:
    for each in company.follow(f"{company.root}/").json()["value"]:
        assert company.get(each["url"]).status_code == 200
