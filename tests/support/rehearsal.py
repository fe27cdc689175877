"""The control endpoint of a service with faults."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import httpx
import msgspec

from comptoir.auth.tokens import Scope
from comptoir.features.rehearsal import entries
from support.client import Client
from support.server import Server
from support.service import Service

APPLIED = "comptoir-fault-applied"
"""The header of a response with the id of the rule that has acted."""

Rule = dict[str, object]
T = TypeVar("T")


class Firing(entries.Firing, forbid_unknown_fields=True):
    """An entry of the log of faults."""


class Sent(entries.Sent, forbid_unknown_fields=True):
    """A request that a client has sent."""


class Trap(entries.TrapLine, rename="camel", forbid_unknown_fields=True):
    """A line of the report."""


class _Party(msgspec.Struct):
    client: str
    traps: list[Trap]


@dataclass(frozen=True)
class Rehearsal:
    """The control endpoint, below whose address `client` is."""

    client: Client

    def set(self, *rules: Rule | str) -> httpx.Response:
        """Replace the rules; a text is a rule with this fault and the id `r`."""
        listed = [{"id": "r", "fault": each} if isinstance(each, str) else each for each in rules]
        response = self.client.request("PUT", "", body={"rules": listed})
        assert response.status_code == 200, response.text
        return response

    def firings(self) -> list[Firing]:
        """The log."""
        return self._listed("log", Firing)

    def requests(self) -> list[Sent]:
        """What clients have sent."""
        return self._listed("requests", Sent)

    def report(self, client: str) -> dict[str, Trap]:
        """The lines of a client that has met a trap, by the name of the trap."""
        (party,) = [each for each in self._listed("report", _Party) if each.client == client]
        return {each.trap: each for each in party.traps}

    def advance(self, duration: str | int | None) -> httpx.Response:
        """Move the clock on."""
        return self.client.post("clock", {"advance": duration})

    def _listed(self, path: str, kind: type[T]) -> list[T]:
        response = self.client.get(path)
        assert response.status_code == 200
        return [msgspec.convert(each, kind) for each in response.json()["value"]]


def control_of(
    service: Service | Server, companies: Iterable[str] | None = None, subject: str = "tests"
) -> Rehearsal:
    """The control endpoint of a service, for a token of all companies or of some."""
    token = service.tokens.issue([Scope.FAULTS], companies, subject)
    return Rehearsal(Client(service, f"{service.origin.root}/faults", token))


def code(response: httpx.Response) -> str:
    """The code of the error in a response."""
    found: str = response.json()["error"]["code"]
    return found


@contextmanager
def rehearsing(service: Service | Server) -> Iterator[Rehearsal]:
    """The control endpoint of a service, without rules at the end."""
    control = control_of(service)
    yield control
    control.set()
