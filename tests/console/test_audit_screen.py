"""The screen of the audit log: the latest entries first, page by page, by act and text."""

import re
from html import unescape

import httpx
import pytest

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.features.console.screens import audit
from support.console import Browser, logged_in
from support.service import Service
from support.together import together

PATH = "/console/audit"
EARLIER = re.compile(r'href="(/console/audit\?[^"]*before=[^"]*)"')


def numbers(page: httpx.Response) -> list[int]:
    return [int(each) for each in re.findall(r'<th scope="row"[^>]*>(\d+)</th>', page.text)]


@pytest.fixture
def browser(own_service: Service) -> Browser:
    return logged_in(own_service)


@pytest.fixture
def brief_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page searches two portions of the log."""
    monkeypatch.setattr(audit, "MOST_PORTIONS", 2)


def record(service: Service, count: int, target: str) -> None:
    acts = [
        Act(Actor("cli:<b>root</b>"), ActName.KEYS_ROTATE, f"{target}-{number}")
        for number in range(count)
    ]
    service.admin.wait(service.admin.control.record(acts))


def test_all_entries_page_by_page(own_service: Service, browser: Browser) -> None:
    record(own_service, 120, "key")
    last = own_service.admin.wait(own_service.admin.control.last_audited())
    page = browser.get(PATH)
    found = numbers(page)
    while (earlier := EARLIER.search(page.text)) is not None:
        page = browser.get(unescape(earlier[1]))
        found += numbers(page)
    assert found == list(range(last, 0, -1))
    assert "cli:&lt;b&gt;root&lt;/b&gt;" in page.text + browser.get(PATH).text


@pytest.mark.usefixtures("brief_searches")
def test_entries_by_act_and_text(own_service: Service, browser: Browser) -> None:
    """However rare they are: a page searches a part of the log, and says how far."""
    record(own_service, 1, "rare")
    record(own_service, audit.PORTION * audit.MOST_PORTIONS, "key")
    page = browser.get(f"{PATH}?text=Rare-0&act=keys.rotate")
    assert "No entry was found back to number" in page.text
    earlier = EARLIER.search(page.text)
    assert earlier is not None
    assert "rare-0" in browser.get(unescape(earlier[1])).text
    assert numbers(browser.get(f"{PATH}?act=role.remove")) == []
    assert numbers(browser.get(f"{PATH}?text=KEYS.ROT")) != []


@together("before", ["x", "-1", "0", "99999999999999999999", "9999"])
def test_a_number_that_is_not_one_shows_the_latest(admin: Browser, before: str) -> None:
    assert numbers(admin.get(f"{PATH}?before={before}")) == numbers(admin.get(PATH))


@pytest.mark.usefixtures("brief_searches")
def test_a_search_ends_where_the_log_begins(own_service: Service, browser: Browser) -> None:
    record(own_service, audit.PORTION * audit.MOST_PORTIONS, "key")
    own_service.admin.trim_logs(41, log_days=40)
    record(own_service, 1, "rare")
    last = own_service.admin.wait(own_service.admin.control.last_audited())

    assert numbers(browser.get(PATH)) == [last, last - 1]
    page = browser.get(f"{PATH}?text=absent")
    assert "No entry matches." in page.text
    assert "before=" not in page.text
