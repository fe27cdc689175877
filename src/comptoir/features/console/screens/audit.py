"""Audit: the log of who changed what in the service, the latest first."""

from collections.abc import Sequence

from comptoir.auth.audit import ActName, AuditEntry
from comptoir.features.console.form import Form
from comptoir.features.console.frame import Answer, Endpoint, Screen, TemplatePage
from comptoir.features.console.visit import Visit
from comptoir.store.control import ControlStore

PAGE_SIZE = 50
"""The entries of a page."""

PORTION = 500
"""The entries that are read at a time."""

MOST_PORTIONS = 20
"""The portions that are searched for one page."""


async def show(visit: Visit) -> Answer:
    """A page of the entries before a number."""
    form = Form(visit.query)
    control = visit.backend.control
    before = form.text("before")
    start = int(before) if before.isascii() and before.isdigit() and len(before) < 16 else 0
    last = await control.last_audited()
    found, rest = await _page(control, form, min(start or last + 1, last + 1))
    context = {
        "form": form,
        "entries": found,
        "last": last,
        "rest": rest,
        "acts": [("", "any"), *[(each, each) for each in sorted(ActName)]],
    }
    return TemplatePage("audit.html", "Audit", context)


async def _page(control: ControlStore, form: Form, before: int) -> tuple[Sequence[AuditEntry], int]:
    """Entries before a number, the latest first, and the number before which others may be.

    The form names an act, and a text that the entries contain.
    """
    act, text = form.text("act"), form.text("text").casefold()
    found: list[AuditEntry] = []
    for _ in range(MOST_PORTIONS):
        since = max(before - 1 - PORTION, 0)
        older = [e for e in await control.audit(since, before - 1 - since) if e.number < before]
        for each in reversed(older):
            shown = (each.by, each.act, each.address, each.request, each.target, each.detail)
            if act in ("", each.act) and any(text in part.casefold() for part in shown):
                found.append(each)
                if len(found) == PAGE_SIZE:
                    return found, each.number if each.number > 1 else 0
        before = since + 1
        if not since or not older:
            return found, 0
    return found, before


SCREEN = Screen("Audit", "/audit", (Endpoint("GET", "", show),), 70, is_of_service=True)
