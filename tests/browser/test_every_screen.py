"""Every screen in a browser: accessible in both colour schemes, usable on a phone."""

import re
from collections.abc import Iterator

import pytest

from browser.conftest import NARROWEST, OpenTab, Site
from comptoir.auth.records import ConsoleRole
from support.chromium import Tab, listed
from support.companies import Company
from support.console import OPERATOR, Browser
from support.samples import CONTACT, SAMPLES, SHIPPING_AGENT
from support.screens import SCREENS, Shown
from support.together import check_all

PHONE = 360
LONG = "W" * 64
"""A name that cannot wrap at a space, and is as long as names may be."""
VARYING = re.compile(
    r'badge">(?:admin|editor|viewer)<|<svg.*?</svg>|<table class="numbers.*?</table>|[0-9.:-]+',
    re.DOTALL,
)
"""What differs in a page of another role, or at another time, and looks alike."""


@pytest.fixture(scope="module")
def company(site: Site) -> Iterator[Company]:
    """A company with long values, beside a client and a role with long names, which end with it."""
    company, user = site.server.admin.add_company(site.server.client, LONG), site.user(subject=LONG)
    recording = {"level": "bodies", "for": "10 minutes"}
    user.submit(user.get("/console/requests"), "/console/requests/recording", **recording)
    new_client, new_role = "/console/clients/new", "/console/roles/edit"
    user.submit(user.get(new_client), new_client, name=LONG, scopes=["records.read"], secret="yes")
    user.submit(user.get(new_role), new_role, name=LONG, own=["itemsExt"], itemsExt=["R", "M"])
    company.admin.load_all(company.stored, {name: [each] for name, each in SAMPLES.items()})
    company.patch(f"contactsExt({CONTACT})", {"displayName": LONG, "city": LONG}, if_match="*")
    yield company
    control, wait = site.server.admin.control, site.server.admin.wait
    wait(control.remove_client(LONG, OPERATOR))
    wait(control.remove_role(LONG, OPERATOR))


@pytest.fixture(scope="module")
def kept(company: Company) -> list[str]:
    """The pages of requests: with a refused tag, a batch, and an unknown path."""
    agent = f"shippingAgentsExt({SHIPPING_AGENT})"
    answers = [
        company.patch(agent, {"name": LONG[:50]}, if_match=f'W/"{LONG}"'),
        company.post("$batch", {"requests": [{"id": LONG, "method": "GET", "url": agent}]}),
        company.get(LONG * 4, f"$filter={LONG * 4}"),
    ]
    return [f"/console/requests/{each.headers['x-request-id']}" for each in answers]


def test_every_screen_is_accessible(
    new_tab: OpenTab, site: Site, company: Company, kept: list[str]
) -> None:
    """To each role, whose page is checked unless it is that of another role."""
    screens = [Shown(each.path.format(company=company.id), each.role) for each in SCREENS]
    others = (kept[0], f"{kept[0]}/again?tag=now", f"/console/clients/client?name={LONG}")
    users = {role: site.user(role, LONG) for role in reversed(ConsoleRole)}
    known: set[str] = set()
    for role, user in users.items():
        tab = new_tab()
        tab.keep(user.cookies)

        def check(screen: Shown, user: Browser = user, tab: Tab = tab) -> None:
            page = user.get(screen.path)
            assert page.text.count("<h1>") == 1
            shape = VARYING.sub("", page.text)
            if shape in known:
                return
            known.add(shape)
            tab.open(screen.path)
            assert_accessible(tab)
            assert_fits(tab)
            assert tab.errors == []

        seen = [each for each in screens if role.rank >= each.role.rank]
        check_all([*seen, *map(Shown, others)], check)


def test_long_requests_fit_on_a_phone(open_tab: OpenTab, kept: list[str]) -> None:
    tab = open_tab()
    for page in kept:
        tab.open(page)
        assert_fits(tab)
        assert tab.overflow(NARROWEST) == 0, page


def assert_fits(tab: Tab) -> None:
    """On a phone, no page is wider than the screen, and the menu has one line."""
    assert tab.overflow(PHONE) == 0
    left, right = "link.getBoundingClientRect().left", "link.getBoundingClientRect().right"
    current = tab.page.locator("nav.side [aria-current]")
    ends = tab.do(current.evaluate(f"link => [{left}, {right}, link.closest('nav').offsetHeight]"))
    assert 0 <= ends[0] < ends[1] <= PHONE
    assert ends[2] < 50


def test_pages_without_a_session_are_accessible(new_tab: OpenTab) -> None:
    tab = new_tab()
    for path, status in (("/", 200), ("/console/login", 200), ("/console/nowhere", 404)):
        tab.open(path, status)
        assert_accessible(tab)


def assert_accessible(tab: Tab) -> None:
    """In a wide window with dark colours, and in a narrow one with light colours."""
    tab.do(tab.page.set_viewport_size({"width": 1_280, "height": 800}))
    tab.darken()
    assert listed(tab.violations()) == []
    tab.darken(dark=False)
    assert tab.overflow(NARROWEST) == 0
    assert listed(tab.violations(of_layout=True)) == []


def test_the_keyboard_reaches_everything(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.open("/console")
    tab.do(tab.page.keyboard.press("Tab"))
    focused = "document.activeElement.textContent.trim()"
    assert tab.do(tab.page.evaluate(focused)) == "Skip to the content"
    tab.do(tab.page.keyboard.press("Enter"))
    assert tab.do(tab.page.evaluate("document.activeElement.id")) == "main"
    links = tab.page.get_by_role("navigation").get_by_role("link")
    tab.do(links.last.focus())
    tab.do(tab.page.keyboard.press("Enter"))
    tab.do(tab.page.wait_for_url("**/console/*"))
