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


class Search:
    """The filter of entries: those of an act, that contain a text."""

    def __init__(self, act: str, text: str) -> None:
        self._act = act
        self._text = text.casefold()

    def finds(self, entry: AuditEntry) -> bool:
        """Whether an entry is shown."""
        if self._act not in ("", entry.act):
            return False
        shown = (entry.by, entry.act, entry.address, entry.request, entry.target, entry.detail)
        return any(self._text in each.casefold() for each in shown)


async def show(visit: Visit) -> Answer:
    """A page of the entries before a number."""
    form = Form(visit.query)
    control = visit.backend.control
    before = form.text("before")
    start = int(before) if before.isascii() and before.isdigit() and len(before) < 16 else 0
    last = await control.last_audited()
    found, rest = await _page(
        control, Search(form.text("act"), form.text("text")), min(start or last + 1, last + 1)
    )
    context = {
        "form": form,
        "entries": found,
        "last": last,
        "rest": rest,
        "acts": [("", "any"), *[(each, each) for each in sorted(ActName)]],
    }
    return TemplatePage("audit.html", "Audit", context)


async def _page(
    control: ControlStore, search: Search, before: int
) -> tuple[Sequence[AuditEntry], int]:
    """Entries before a number, the latest first, and the number before which others may be."""
    found: list[AuditEntry] = []
    for _ in range(MOST_PORTIONS):
        since = max(before - 1 - PORTION, 0)
        for each in reversed(await control.audit(since, before - 1 - since)):
            if search.finds(each):
                found.append(each)
                if len(found) == PAGE_SIZE:
                    return found, each.number if each.number > 1 else 0
        before = since + 1
        if not since:
            return found, 0
    return found, before


SCREEN = Screen("Audit", "/audit", (Endpoint("GET", "", show),), 70, is_of_service=True)
