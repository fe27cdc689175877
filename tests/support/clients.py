"""Clients of the token endpoint, which ask for tokens as programs do."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol
from urllib.parse import urlencode

import httpx
import msgspec

from comptoir.auth.audit import AuditEntry
from comptoir.auth.fields import USUAL_DAYS, client_terms, new_client
from comptoir.auth.issuers import IssuerKeys, OutsideIssuers
from comptoir.auth.limits import Limits
from comptoir.auth.records import RegistrySnapshot
from comptoir.auth.roles import Roles
from comptoir.cli.client import add
from comptoir.cli.runner import operator
from comptoir.config import Settings
from comptoir.outgoing import Document, OutgoingError
from support.client import Client
from support.command import Command
from support.companies import CompanyAdmin

TOKEN_PATH = "comptoir/oauth2/v2.0/token"
GRANT = {"grant_type": "client_credentials"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_numbers = count()


class NoClients:
    """A registry without clients."""

    known = RegistrySnapshot(0, {}, Roles((), ()), frozenset(), {})
    revoked = known.revoked

    async def refresh(self) -> RegistrySnapshot:
        return self.known


def no_issuers() -> OutsideIssuers:
    """Outside issuers, none of which can be reached."""

    async def fetch(url: str) -> Document:
        raise OutgoingError(f"{url} is not reached")

    return OutsideIssuers(lambda url: IssuerKeys(url, fetch, 86_400, lambda: None))


NO_CLIENTS = NoClients()
NO_LIMITS = Limits(at_once=100, workers=1)


class Serving(Protocol):
    """A service, within this process or as one of its own."""

    @property
    def settings(self) -> Settings: ...

    @property
    def origin(self) -> Client: ...

    @property
    def client(self) -> Client: ...

    @property
    def admin(self) -> CompanyAdmin: ...


@dataclass(frozen=True)
class Webshop:
    """A client with its secret; `command` administers it."""

    service: Serving
    command: Command
    name: str
    id: str
    secret: str

    @property
    def in_body(self) -> Mapping[str, str]:
        """The credentials as parameters of the form."""
        return {"client_id": self.id, "client_secret": self.secret}

    def ask(self, **form: str) -> httpx.Response:
        """Ask for a token with the credentials in the body."""
        return ask(self.service, {**GRANT, **self.in_body, **form})

    def send(self, endpoint: str, token: str) -> httpx.Response:
        """Send a token to an endpoint besides that for tokens."""
        path = TOKEN_PATH.replace("token", endpoint)
        return ask(self.service, {**self.in_body, "token": token}, path=path)

    def token(self, **form: str) -> str:
        """A token for the client."""
        return token_in(self.ask(**form))


def token_in(response: httpx.Response) -> str:
    """The token in a response with status 200."""
    assert response.status_code == 200, response.text
    return str(response.json()["access_token"])


def ask(
    service: Serving,
    form: Mapping[str, str] | bytes,
    headers: Mapping[str, str] | None = None,
    path: str = TOKEN_PATH,
    query: str = "",
) -> httpx.Response:
    """Send a form to the token endpoint."""
    content = form if isinstance(form, bytes) else urlencode(form).encode()
    return service.origin.request("POST", path, query, content, {**FORM, **(headers or {})})


def add_client(
    service: Serving, folder: Path, *options: str, scope: str = "records.read records.write"
) -> Webshop:
    """Add a client to the database of a service, with options of the command."""
    name = f"webshop-{next(_numbers)}"
    given = add.make_context("add", [name, "--scope", scope, *options]).params
    client, secret = new_client(name, given["days"] or USUAL_DAYS, **client_terms(given))
    # a command would open the database for each client, which takes ten times as long
    service.admin.wait(service.admin.control.add_client(client, operator()))
    command = Command(folder, service.settings.database)
    return Webshop(service, command, name, client.id, secret)


def failed(command: Command) -> list[AuditEntry]:
    """The entries of the audit log of failed authentications."""
    lines = command.done("audit").out.splitlines()
    entries = [msgspec.json.decode(line, type=AuditEntry) for line in lines]
    return [each for each in entries if each.act == "authentication.failed"]
