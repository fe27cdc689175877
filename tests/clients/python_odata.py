"""The scenario by python-odata, which reads `$metadata`; prints a `Report` as JSON.

The library has neither tags nor batches of its own: If-Match is a header that its caller adds, and
a batch is a body that its connection posts.
"""

import json
import os
import sys
from collections.abc import Callable
from uuid import UUID

import requests
from odata import ODataError, ODataService
from odata.context import Context
from odata.flags import ODataServerFlags

Report = dict[str, object]


def main() -> None:
    base = _service(os.environ["BASE"])
    company = _service(os.environ["COMPANY"])
    kind = base.entities["companies"]
    companies = base.query(kind)
    company_id = os.environ["COMPANY"].partition("(")[2].rstrip(")")
    own = companies.filter(kind.id == UUID(company_id)).expand(kind.shippingAgentsExt).one()
    report: Report = {
        "entity_sets": sorted(company.entities),
        "companies": [each.name for each in companies.all()],
        "contained": sorted(each.code for each in own.shippingAgentsExt),
    }
    scenario = Scenario(company)
    report |= scenario.reads() | scenario.writes() | scenario.batches()
    json.dump(report, sys.stdout)


class Scenario:
    """What a client does with the contacts of a company."""

    def __init__(self, service: ODataService) -> None:
        self.service = service
        self.contact = service.entities["contactsExt"]
        self.contacts = service.query(self.contact)

    def reads(self) -> Report:
        contact, contacts = self.contact, self.contacts
        in_lyon = contacts.filter(contact.city == "Lyon")
        some = in_lyon.filter(contact.number.startswith("C000")).order_by(contact.number.asc())
        window = contacts.order_by(contact.number.desc()).offset(2).limit(3)
        person = contacts.filter(contact.number == "C0001").expand(contact.company).one()
        return {
            "filtered": [each.number for each in some],
            "counted": in_lyon.count(),
            "paged": len({each.id for each in contacts}),
            "window": [each.number for each in window],
            "read": [person.displayName, person.company.displayName],
        }

    def writes(self) -> Report:
        made = self.contact()
        made.number, made.displayName = "N1", "Made"
        self.service.save(made)
        created, first_tag = made.displayName, self.tag("N1")
        made.displayName = "Changed"
        self.guarded(first_tag).save(made)
        updated = [made.displayName, made.searchName]
        made.displayName = "Lost"
        conflict = _status(lambda: self.guarded(first_tag).save(made))
        stale = _status(lambda: self.guarded(first_tag).delete(made))
        kept = self.contacts.filter(self.contact.number == "N1").one().displayName
        self.guarded(self.tag("N1")).delete(made)
        return {
            "created": created,
            "updated": updated,
            "conflict": conflict,
            "stale_delete": stale,
            "kept": kept,
            "left": self.contacts.filter(self.contact.number == "N1").count(),
        }

    def batches(self) -> Report:
        two = [self.create("B1", "a"), self.create("B2", "a")]
        good = self.send(self.read("C0001"), *two, self.read("C0002"))
        bad = self.send(self.create("B3", "a"), self.create("B1", "a"), self.read("C0001"))
        return {
            "batch": good,
            "failed_batch": bad,
            "batched": self.contacts.filter(self.contact.number.startswith("B")).count(),
        }

    def tag(self, number: str) -> str:
        row = self.contacts.filter(self.contact.number == number).select(self.contact.number)
        return str(row.one()["@odata.etag"])

    def guarded(self, tag: str) -> Context:
        """The service, with If-Match on every request."""
        return self.service.create_context(session=_session({"If-Match": tag}))

    def send(self, *requests: Report) -> list[int]:
        """The statuses of a batch's requests."""
        numbered = [{"id": str(index), **each} for index, each in enumerate(requests)]
        answer = self.service.default_context.connection.execute_post(
            f"{self.service.url}$batch", {"requests": numbered}
        )
        return [each["status"] for each in sorted(answer["responses"], key=lambda r: int(r["id"]))]

    @staticmethod
    def read(number: str) -> Report:
        return {"method": "GET", "url": f"contactsExt?$filter=number eq '{number}'"}

    @staticmethod
    def create(number: str, group: str) -> Report:
        return {
            "method": "POST",
            "url": "contactsExt",
            "headers": {"Content-Type": "application/json"},
            "body": {"number": number, "displayName": number},
            "atomicityGroup": group,
        }


def _service(url: str) -> ODataService:
    flags = ODataServerFlags(skip_null_properties=True)
    return ODataService(
        url, session=_session({}), reflect_entities=True, quiet_progress=True, server_flags=flags
    )


def _session(headers: dict[str, str]) -> requests.Session:
    session = requests.Session()
    session.headers.update({"Authorization": f"Bearer {os.environ['TOKEN']}", **headers})
    return session


def _status(work: Callable[[], None]) -> str:
    """How the service refuses."""
    try:
        work()
    except ODataError as error:
        return str(error.status_code)
    return "done"


main()
