"""A write that another session keeps waiting."""

import pytest

from comptoir.config import PROFILES
from support.batches import documents
from support.databases import writes_held
from support.refusals import error_in
from support.service import StartService


@pytest.mark.parametrize("profile", PROFILES)
def test_a_write_that_waits_too_long_names_the_table(
    profile: str, start_service: StartService
) -> None:
    service = start_service(profile=profile, lock_seconds=0.3)
    company = service.new_company()
    with writes_held(service.settings.database):
        answer = company.post("shippingAgentsExt", {"code": "A"})
        write = {"id": "1", "method": "POST", "url": "itemAttributesExt", "body": {"name": "A"}}
        in_group = documents(company, {**write, "atomicityGroup": "g"})["1"]

    error = error_in(answer.content)
    if profile == "standard":
        assert (answer.status_code, error.code) == (503, "Internal_DatabaseBusy")
        assert in_group.status == 503
    else:
        assert (answer.status_code, error.code) == (409, "Internal_ServerError")
        assert "a record in table 'Shipping Agent' is being updated" in error.message
        assert in_group.status == 409
        assert "table 'Item Attribute'" in in_group.error.message
