"""The audit log: who changed clients, roles and subscriptions, or was not authenticated."""

from enum import StrEnum

import msgspec


class ActName(StrEnum):
    """The act of an entry."""

    CLIENT_ADD = "client.add"
    CLIENT_CHANGE = "client.change"
    CLIENT_DISABLE = "client.disable"
    CLIENT_ENABLE = "client.enable"
    CLIENT_REMOVE = "client.remove"
    SECRET_ADD = "client.secret.add"  # noqa: S105 - a name
    SECRET_REMOVE = "client.secret.remove"  # noqa: S105 - a name
    KEY_ADD = "client.key.add"
    KEY_REMOVE = "client.key.remove"
    ROLE_APPLY = "role.apply"
    ROLE_REMOVE = "role.remove"
    ISSUER_ADD = "issuer.add"
    ISSUER_REFRESH = "issuer.refresh"
    ISSUER_REMOVE = "issuer.remove"
    KEYS_ROTATE = "keys.rotate"
    FAULTS_CHANGE = "faults.change"
    INSPECT_CHANGE = "inspect.change"
    TOKEN_REVOKE = "token.revoke"  # noqa: S105 - a name
    SUBSCRIPTION_ADD = "subscription.add"
    SUBSCRIPTION_RENEW = "subscription.renew"
    SUBSCRIPTION_REMOVE = "subscription.remove"
    SUBSCRIPTION_DROP = "subscription.drop"
    SUBSCRIPTION_EXPIRE = "subscription.expire"
    CONSOLE_CODE = "console.code"
    CONSOLE_LOGIN = "console.login"
    CONSOLE_LOGOUT = "console.logout"
    CONSOLE_END = "console.end"
    AUTHENTICATION_FAILED = "authentication.failed"


class Actor(msgspec.Struct, frozen=True):
    """The one who acts.

    `cli:USER` for a command, `client:NAME` for a client, `Login.by` for a person, `service` for
    itself; blank if nobody was accepted.

    `address` and `request` are those of the client's request.
    """

    by: str
    address: str = ""
    request: str = ""


class Act(msgspec.Struct, frozen=True):
    """The act of an actor on a client, a role, an issuer, a token or a subscription.

    `detail` has no secret.
    """

    actor: Actor
    name: ActName
    target: str
    detail: str = ""

    @property
    def recorded(self) -> tuple[str, ...]:
        """The fields of the entry after its number and time."""
        return (*msgspec.structs.astuple(self.actor), self.name, self.target, self.detail)


class AuditEntry(msgspec.Struct, frozen=True):
    """An act in the audit log; the numbers have no gaps."""

    number: int
    at: str
    by: str
    address: str
    request: str
    act: str
    target: str
    detail: str
