"""Clients with roles, and their tokens."""

from collections.abc import Mapping
from uuid import uuid4

from comptoir.auth.audit import Actor
from comptoir.auth.fields import secret_for
from comptoir.auth.records import Client, ClientState
from comptoir.auth.roles import Role
from comptoir.auth.tokens import Scope
from support.clients import GRANT, ask, token_in
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
    sent = {}
    for name in roles:
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
        sent[name] = {**GRANT, "client_id": client.id, "client_secret": text}
    return {name: token_in(ask(service, form)) for name, form in sent.items()}
