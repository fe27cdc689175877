"""Forms with texts that no browser sends by itself: each is refused, and shown as text."""

import httpx
import pytest

from comptoir.features.console.app import SCREENS
from comptoir.features.inspector import screen as requests
from comptoir.features.rehearsal import screen as faults
from support.companies import Company
from support.console import Browser
from support.samples import CONTACT

FIELDS = (
    *("name", "subject", "hint", "kid", "id", "pem", "url", "audience", "algorithms", "map"),
    *("days", "rate", "quota", "seen", "level", "for", "tag", "read", "wanted", "now", "roles"),
    *("companies", "companies-claim", "field.displayName", "field.onlinePassword"),
)
ADDRESSES = [
    (each.method, f"{screen.address}{each.path}")
    for screen in (*SCREENS, requests.SCREEN, faults.SCREEN)
    for each in screen.endpoints
    if not each.path.endswith("/log-out")
]


@pytest.mark.parametrize(
    "text", ["\0", "<script>alert(1)</script>", "\N{RIGHT-TO-LEFT OVERRIDE}\x1b[31m", "9" * 5_000]
)
def test_every_form_and_query(stocked: Company, admin: Browser, text: str) -> None:
    fields = dict.fromkeys(FIELDS, text)
    for method, path in ADDRESSES:
        address = path.format(set="contactsExt", id="0-1")
        if method == "POST":
            place = f"{address}?company={stocked.id}&key={CONTACT}"
            answer = admin.post(place, fields)
        else:
            names = ("text", "act", "before", "filter", "orderby", "key", "name", "skiptoken")
            query = httpx.QueryParams({**dict.fromkeys(names, text), "company": stocked.id})
            answer = admin.get(f"{address}?{query}")
        assert answer.status_code < 500, (method, path, answer.text)
        assert "<script>alert" not in answer.text, (method, path)
