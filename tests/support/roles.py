"""Clients with roles, and their tokens."""

from collections.abc import Mapping
from uuid import uuid4

from comptoir.auth.audit import Actor
from comptoir.auth.fields import secret_for
from comptoir.auth.records import Client, ClientState
from comptoir.auth.roles import Role
from comptoir.auth.tokens import Scope
from support.clients import GRANT, ask
from support.service import Service

TESTS = Actor("tests")


def apply_roles(service: Service, roles: Mapping[str, Mapping[str, str]]) -> None:
    """Add roles, or replace those of the same names; known once a client asks for a token."""
    admin = service.admin
    admin.wait(admin.control.put_roles([Role(name, each) for name, each in roles.items()], TESTS))


def tokens_of_roles(
    service: Service,
    roles: Mapping[str, Mapping[str, str]],
    scopes: frozenset[str] = frozenset({Scope.RECORDS_READ, Scope.RECORDS_WRITE}),
) -> dict[str, str]:
    """A token for each role, of a client of this name that has no other role."""
    apply_roles(service, roles)
    sent = {name: _added(service, name, scopes) for name in roles}
    return {name: _token(service, *credentials) for name, credentials in sent.items()}


def _added(service: Service, name: str, scopes: frozenset[str]) -> tuple[str, str]:
    """The id and the secret of a new client."""
    secret, text = secret_for(1)
    client = Client(
        id=str(uuid4()),
        name=name,
        scopes=scopes,
        roles=frozenset({name}),
        companies=None,
        state=ClientState.ACTIVE,
        secrets=(secret,),
    )
    service.admin.wait(service.admin.control.add_client(client, TESTS))
    return client.id, text


def _token(service: Service, client_id: str, secret: str) -> str:
    response = ask(service, {**GRANT, "client_id": client_id, "client_secret": secret})
    assert response.status_code == 200, response.text
    return str(response.json()["access_token"])
