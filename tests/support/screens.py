"""The screens of the console, in one place: every test of all screens reads this list."""

from typing import NamedTuple

from comptoir.auth.records import ConsoleRole
from support.samples import CONTACT, CUSTOMER


class Shown(NamedTuple):
    """A page of the console, and the least role that sees it.

    `{company}` in the path is the id of a company with a sample of every entity set.
    """

    path: str
    role: ConsoleRole = ConsoleRole.VIEWER


_CONTACT = f"company={{company}}&key={CONTACT}"
_CUSTOMER = f"company={{company}}&key={CUSTOMER}"

SCREENS = (
    Shown("/console?company={company}"),
    Shown("/console/requests?company={company}"),
    Shown("/console/records?company={company}"),
    Shown("/console/records/contactsExt?company={company}&filter=city ne ''&orderby=number desc"),
    Shown("/console/records/contactsExt/columns?company={company}&filter=city ne ''"),
    Shown(f"/console/records/customersExt/record?{_CUSTOMER}"),
    Shown(f"/console/records/contactsExt/record?{_CONTACT}"),
    Shown("/console/records/unitsOfMeasureExt/new?company={company}", ConsoleRole.EDITOR),
    Shown(f"/console/records/contactsExt/record/delete?{_CONTACT}", ConsoleRole.EDITOR),
    Shown(f"/console/records/contactsExt/record/edit?{_CONTACT}", ConsoleRole.EDITOR),
    Shown("/console/changes?company={company}"),
    Shown(f"/console/changes?company={{company}}&entitySet=contactsExt&record={CONTACT}"),
    Shown("/console/clients?company={company}"),
    Shown("/console/clients/new?company={company}", ConsoleRole.ADMIN),
    Shown("/console/roles?company={company}"),
    Shown("/console/roles/edit?company={company}", ConsoleRole.ADMIN),
    Shown("/console/issuers?company={company}"),
    Shown("/console/issuers/new?company={company}", ConsoleRole.ADMIN),
    Shown("/console/audit?company={company}"),
    Shown("/console/sessions?company={company}"),
)
