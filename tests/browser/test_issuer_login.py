"""Login through an outside issuer, whose pages are on another site."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.certificates import trusted_folder
from support.chromium import Chromium
from support.console import console_of
from support.databases import FreshDatabase
from support.issuers import LOOPBACK, IssuerCommand, OtherIssuer
from support.server import Server
from support.waiting import until


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[OtherIssuer]:
    """An issuer with a user, which the machine trusts."""
    with trusted_folder(tmp_path), OtherIssuer(tmp_path) as issuer:
        issuer.user = {"sub": "joe", "roles": ["Staff"]}
        yield issuer


@pytest.mark.parametrize("scripts", [True, False])
def test_a_user_comes_back_from_another_site(
    scripts: bool,
    chromium: Chromium,
    issuer: OtherIssuer,
    fresh_sqlite: FreshDatabase,
    tmp_path: Path,
) -> None:
    """By a link there, so the browser sends lax cookies alone, and the console's page goes on."""
    given = ("--console-client-id", "console", "--console-role", "Staff=viewer", "--company", "*")
    with Server.over(fresh_sqlite, tmp_path, outgoing_allow=LOOPBACK) as server:
        IssuerCommand(server, tmp_path).add("keycloak", issuer.url, *given)
        origin = server.base_url.removesuffix(server.settings.base_path)
        with chromium.tab(origin, scripts=scripts, trusts_all=True) as tab:
            tab.open("/console/login")
            if scripts:
                assert tab.violations() == []
                assert tab.overflow(320) == 0
            tab.do(tab.page.get_by_role("link", name="Log in with keycloak").click())
            tab.do(tab.page.get_by_role("link", name="Continue").wait_for())
            (elsewhere,) = tab.errors
            assert elsewhere.startswith(f"a request to {issuer.url}/authorize")
            tab.errors.clear()
            tab.do(tab.page.get_by_role("link", name="Continue").click())
            tab.do(tab.page.wait_for_url(f"{origin}/console"))
            heading = tab.page.locator("h1")
            until(lambda: tab.texts(heading) == ["Overview"] or None, "the first page")
            assert "keycloak:joe" in tab.texts(tab.page.locator("header"))[0]
            (cookie,) = tab.do(tab.page.context.cookies())
            session = console_of(server).session_cookie
            assert (cookie["name"], cookie["sameSite"]) == (session, "Strict")
