"""The setting `bc_version` selects what Business Central did in a version."""

from collections.abc import Mapping

import pytest

from comptoir.config import load_settings
from comptoir.errors.refusal import OperatorError
from comptoir.features.business_central import VERSIONS, BusinessCentralSettings
from support.client import page, record
from support.companies import Company
from support.service import StartService

CHOSEN = (22, 23, 24)


@pytest.fixture(scope="module")
def companies(share_service: StartService) -> Mapping[int, Company]:
    """A company with five agents, of a service of each version, all in one process."""
    found: dict[int, Company] = {}
    for version in CHOSEN:
        service = share_service(profile="business-central", bc_version=version)
        company = found[version] = service.new_company()
        company.load("shippingAgentsExt", *({"code": code, "name": code} for code in "ABCDE"))
    return found


def test_a_list_was_ignored_up_to_version_22(companies: Mapping[int, Company]) -> None:
    for order in (CHOSEN, CHOSEN[::-1]):
        for condition in ("code in ('A')", "contains(toupper(code),'A')"):
            for version in order:
                company = companies[version]
                query: dict[str, str | int] = {"$filter": condition, "$top": len(order) * order[0]}
                response = company.get("shippingAgentsExt", query)
                assert response.headers["comptoir-profile"] == f"business-central/{version}"
                if version > 22:
                    assert response.status_code == 501
                else:
                    assert len(page(response).value) == 5
                evaluated = company.get("shippingAgentsExt", {**query, "$schemaversion": "2.1"})
                assert len(page(evaluated).value) == 1


def test_delta_links_were_supported_before_version_24(companies: Mapping[int, Company]) -> None:
    for version in CHOSEN:
        company = companies[version]
        prefer = {"Prefer": "odata.track-changes,odata.maxpagesize=2"}
        read = company.get("shippingAgentsExt?$filter=name%20ne%20'X'", "", prefer)
        codes = [each["code"] for each in page(read).value]
        while "@odata.nextLink" in read.json():
            read = company.follow(read.json()["@odata.nextLink"], {"Prefer": "odata.maxpagesize=2"})
            codes += [each["code"] for each in page(read).value]
        assert sorted(map(str, codes)) == list("ABCDE")
        assert ("@odata.deltaLink" in read.json()) is (version < 24)
        if version < 24:
            path = f"shippingAgentsExt(code='{codes[0]}')"
            record(company.patch(path, {"name": f"new {version}"}, if_match="*"))
            changes = company.follow(read.json()["@odata.deltaLink"]).json()["value"]
            assert [each["name"] for each in changes] == [f"new {version}"]


def test_a_version_that_is_not_known_is_refused() -> None:
    chosen = {"profile": "business-central"}
    for version in (VERSIONS[0] - 1, VERSIONS[-1] + 1):
        with pytest.raises(OperatorError, match="--bc-version"):
            load_settings({**chosen, "bc_version": version}, {})
    given = load_settings(chosen, {"COMPTOIR_BC_VERSION": "22"})
    assert given.of(BusinessCentralSettings).bc_version == 22
