"""oidc-provider, a certified server, as an issuer of tokens for the service and of logins."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from comptoir.auth.local_authority import local_certificate
from comptoir.auth.origins import redirect_uri
from comptoir.config import Settings
from support.certificates import trusted_folder, trusting
from support.command import Command
from support.console import Browser, forms_of, origin_of
from support.databases import ON_SQLITE, FreshDatabase
from support.issuers import AUDIENCE, LOOPBACK, IssuerCommand
from support.programs import node
from support.service import Service, StartService
from support.sockets import http_client

SCRIPT = "oidc_provider.mjs"
CREDENTIALS = ("webshop", "a secret of thirty-two characters")
NAME = "provider"
ORIGIN = origin_of(Settings())


class Provider:
    """The provider in a folder, in which it has a certificate for localhost."""

    def __init__(self, folder: Path) -> None:
        run, local = node(), local_certificate(folder)
        (folder / "node_modules").symlink_to(run.packages, target_is_directory=True)
        script = shutil.copy(Path(__file__).with_name(SCRIPT), folder)
        self._trust = trusting(local.authority.certificate)
        self._process = subprocess.Popen(
            [run.program, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "AUDIENCE": AUDIENCE,
                "CERTIFICATE": str(local.localhost.certificate),
                "KEY": str(local.localhost.key),
                "CLIENT_SECRET": CREDENTIALS[1],
                "REDIRECT_URI": redirect_uri(ORIGIN, NAME),
            },
            text=True,
        )
        self.url = self._line()

    def rotate(self) -> None:
        """Let it sign with a new key."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        assert self._line() == "rotated"

    def token(self, scope: str) -> str:
        """A token by client credentials."""
        form = {"grant_type": "client_credentials", "scope": scope}
        with http_client(trust=self._trust) as client:
            response = client.post(f"{self.url}/token", data=form, auth=CREDENTIALS)
        assert response.status_code == 200, response.text
        return str(response.json()["access_token"])

    def answer(self, address: str, user: str, *, cancels: bool = False) -> str:
        """Where a user ends who logs in on its pages, from an address on, and agrees or cancels."""
        with http_client(trust=self._trust) as client:
            page = client.get(address)
            for _ in range(9):
                if page.is_redirect:
                    address = urljoin(str(page.url), page.headers["location"])
                    if not address.startswith(self.url):
                        return address
                    page = client.get(address)
                    continue
                (form,) = forms_of(page)
                is_agreement = "login" not in dict(form.fields)
                if is_agreement and cancels:
                    page = client.get(f"{page.url}/abort")
                    continue
                entered = {**dict(form.fields), "login": user, "password": "any"}
                page = client.post(form.action, data=entered)
        raise AssertionError(f"the provider stays at {page.url}")

    def stop(self) -> None:
        self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    """The provider; the machine trusts its authority."""
    folder = tmp_path_factory.mktemp("provider")
    with trusted_folder(folder):
        provider = Provider(folder)
        yield provider
        provider.stop()


@ON_SQLITE
def test_its_tokens_are_accepted_while_its_keys_rotate(
    provider: Provider, start_service: StartService, tmp_path: Path
) -> None:
    service = start_service(outgoing_allow=LOOPBACK)
    command = IssuerCommand(service, tmp_path)
    command.apply_roles('[seller]\nitemsExt = "R"\n')
    mapped = ("--roles-claim", "groups", "--map", "sellers=seller", "--company", "*")
    command.add("provider", provider.url, *mapped)
    company = service.new_company()

    former = company.using(provider.token("records.read"))
    assert former.get("itemsExt").status_code == 200
    assert former.get("contactsExt").status_code == 403
    assert former.post("itemsExt", {"number": "1"}).status_code == 403

    provider.rotate()
    assert company.using(provider.token("records.read")).get("itemsExt").status_code == 200
    assert former.get("itemsExt").status_code == 200
    assert company.using(provider.token("records.write")).get("itemsExt").status_code == 403


@ON_SQLITE
def test_users_log_in_to_the_console(
    provider: Provider, start_service: StartService, tmp_path: Path
) -> None:
    """With a client that has a secret, and with a public one."""
    secret = tmp_path / "secret"
    secret.write_text(CREDENTIALS[1], encoding="utf-8")
    clients = (("console", "--console-secret-file", str(secret)), ("public-console",))
    service = start_service(outgoing_allow=LOOPBACK)
    command = IssuerCommand(service, tmp_path)
    for client in clients:
        roles = ("--console-role", "editors=editor", "--company", "*")
        command.add(NAME, provider.url, "--console-client-id", *client, *roles)
        browser = Browser(service, ORIGIN)
        assert answered(browser, provider, "editor").status_code == 200
        page = browser.get("/console").text
        assert "provider:editor" in page

        other = browser.another()
        page = answered(other, provider, "guest").text
        assert "provider gives you no role in the console." in page
        page = answered(other, provider, "editor", cancels=True).text
        assert "The login was cancelled at provider." in page
        assert other.cookies == {}
        command.done("remove", NAME)


@ON_SQLITE
def test_a_claim_that_needs_a_scope(
    provider: Provider, fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    """Without the scope, the ID token lacks it, and the audit log says so."""
    with Service(fresh_database, tmp_path, outgoing_allow=LOOPBACK) as service:
        command, browser = IssuerCommand(service, tmp_path), Browser(service, ORIGIN)
        login = ("--console-client-id", "public-console", "--console-role", "joe=viewer")
        claim = ("--roles-claim", "teams", "--company", "*")
        command.add(NAME, provider.url, *login, *claim)
        assert "gives you no role in the console." in answered(browser, provider, "joe").text
        command.done("remove", NAME)
        command.add(NAME, provider.url, *login, *claim, "--console-scope", "groups")
        assert answered(browser, provider, "joe").status_code == 200
        assert "provider:joe" in browser.get("/console").text
        settings = service.settings
    out = Command(tmp_path, settings.database).done("audit").out
    assert "reason=roles are in the claim 'teams', and the ID token does not have it" in out


def answered(
    browser: Browser, provider: Provider, user: str, *, cancels: bool = False
) -> httpx.Response:
    """The console's answer to a user who begins on its login page, and comes back."""
    start = f"/console/login/{NAME}"
    assert f'href="{start}"' in browser.get("/console/login").text
    left = browser.get(start, {"Sec-Fetch-Site": "same-origin"})
    address = provider.answer(left.headers["location"], user, cancels=cancels)
    return browser.get(address, {"Sec-Fetch-Site": "cross-site"})
