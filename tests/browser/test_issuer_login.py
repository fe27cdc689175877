"""Login through an outside issuer, whose pages are on another site."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from support.certificates import trusted_folder
from support.chromium import Chromium
from support.command import Command
from support.console import console_of
from support.databases import FreshDatabase
from support.issuers import AUDIENCE, LOOPBACK, OtherIssuer
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
    settings = Settings(
        database=fresh_sqlite(tmp_path, MODEL), keys=str(tmp_path / "keys"), outgoing_allow=LOOPBACK
    )
    config = tmp_path / "issuers.toml"
    config.write_text(f'outgoing_allow = "{LOOPBACK}"\n', encoding="utf-8")
    given = ("--console-client-id", "console", "--console-role", "Staff=viewer", "--company", "*")
    Command(tmp_path, settings.database).done(
        *("issuer", "add", "keycloak", issuer.url, "--audience", AUDIENCE, *given),
        *("--config", str(config)),
    )

    with Server(settings, tmp_path) as server:
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
            until(
                lambda: tab.texts(tab.page.locator("h1")) == ["Overview"] or None, "the first page"
            )
            assert "keycloak:joe" in tab.texts(tab.page.locator("header"))[0]
            (cookie,) = tab.do(tab.page.context.cookies())
            assert (cookie["name"], cookie["sameSite"]) == (
                console_of(server).session_cookie,
                "Strict",
            )
