"""`comptoir rehearse`, a client of the control endpoint of a service, and the report it reads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TypeVar
from urllib.parse import urlsplit

import click
import msgspec

from comptoir.auth.tokens import Scope, token_issuer
from comptoir.cli.options import checked, option_or_variable, settings_options
from comptoir.config import Settings
from comptoir.errors.messages import quoted, suggestion
from comptoir.features.rehearsal import errors as problems
from comptoir.features.rehearsal.entries import Trap, TrapLine

CONTROL_TOKEN_LIVES = timedelta(days=1)
"""Longer than a run of tests."""

_PATIENCE_SECONDS = 60

_WORST = ("no", "unknown", "yes", None)
"""The recoveries of a report: of several reports, the first of these counts."""

T = TypeVar("T")

Report = Mapping[str, TrapLine]
"""A line for each trap, by its name; empty if no client has met any."""


class _Client(msgspec.Struct, frozen=True):
    traps: list[TrapLine]


class _Report(msgspec.Struct, frozen=True):
    value: list[_Client]


class ControlClient:
    """The control endpoint of the service with an address; only the origin of `url` counts."""

    def __init__(self, url: str, token: str) -> None:
        """Raise `OperatorError` if `url` is not an http or https URL."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise problems.INVALID_URL(url=quoted(url))
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._connecting = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._token = token

    def read(
        self, method: str, path: str, form: type[T], body: Mapping[str, object] | None = None
    ) -> T:
        """The JSON that answers a request for a path below `/faults`; raises `OperatorError`."""
        content = self.send(method, path, body)
        try:
            return msgspec.json.decode(content, type=form)
        except msgspec.DecodeError as error:
            raise problems.ANOTHER_RELEASE(origin=self._origin, reason=error) from error

    def send(self, method: str, path: str, body: Mapping[str, object] | None = None) -> bytes:
        """The body of the answer to a request; raises `OperatorError` for an error."""
        content = None if body is None else msgspec.json.encode(body)
        # a connection for each request, since the service closes idle ones
        connection = self._connecting(urlsplit(self._origin).netloc, timeout=_PATIENCE_SECONDS)
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            connection.request(method, f"/faults/{path}", content, headers)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, HTTPException) as error:
            raise problems.NO_RESPONSE(origin=self._origin, reason=error) from error
        finally:
            connection.close()
        if response.status < 400:
            return answer
        url, status = f"{self._origin}/faults/{path}", response.status
        if status == 404:
            raise problems.WITHOUT_FAULTS(url=url, status=status)
        try:
            refused = msgspec.json.decode(answer, type=dict[str, dict[str, object]])["error"]
            found = str(refused["message"])
        except (msgspec.DecodeError, KeyError):
            found = ""
        raise problems.REQUEST_FAILED(suggested=found, url=url, status=status)


def read_report(control: ControlClient) -> Report:
    """The traps of all clients of a service together."""
    parties = control.read("GET", "report", _Report).value
    return merged(line for party in parties for line in party.traps)


def merged(lines: Iterable[TrapLine]) -> Report:
    """The sum of the lines of several clients or tests."""
    report: dict[str, TrapLine] = {}
    for line in lines:
        known = report.setdefault(line.trap, line)
        if known is not line:
            report[line.trap] = msgspec.structs.replace(
                known,
                met=known.met + line.met,
                by_fault=known.by_fault + line.by_fault,
                too_early=known.too_early + line.too_early,
                recovered=min(known.recovered, line.recovered, key=_WORST.index),
            )
    return report


def report_lines(report: Report) -> Iterator[str]:
    """The text of a report: the traps that were met, with advice, and those that were not."""
    met = [line for line in report.values() if line.met]
    width = max((len(line.trap) for line in met), default=0)
    for line in met:
        too_early = (
            f" {line.too_early} sent before Retry-After had passed." if line.too_early else ""
        )
        advice = "" if line.recovered == "yes" else f" {line.remedy}"
        yield (
            f"{line.trap:{width}}  met {line.met}, by a fault {line.by_fault}, recovered: "
            f"{line.recovered}.{too_early}{advice}"
        )
    missing = [line.trap for line in report.values() if not line.met]
    if missing:
        yield f"not met: {', '.join(missing)}"
    if not report:
        yield "no client has met a trap"


@click.group()
def rehearse() -> None:
    """Report what the clients of a service with faults have met."""


def _traps(text: str) -> Sequence[str]:
    """The traps of a list; raises `OperatorError` for an unknown one."""
    names = [each.strip() for each in text.split(",") if each.strip()]
    for name in names:
        if name not in set(Trap):
            raise problems.UNKNOWN_TRAP(
                suggested=suggestion(name, Trap), name=quoted(name), known=", ".join(Trap)
            )
    return names


@rehearse.command()
@option_or_variable(
    "--url", help="The address of the service; by default, the one of the settings."
)
@option_or_variable(
    "--token",
    help="A token with the scope faults; by default, one is issued by the service's keys.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all counts.")
@option_or_variable(
    "--require",
    metavar="TRAPS",
    callback=checked(_traps),
    help="Fail unless each of these traps was met, such as throttling,stale-tag.",
)
@settings_options("keys")
def report(
    settings: Settings,
    url: str | None,
    token: str | None,
    as_json: bool,
    require: Sequence[str] | None,
) -> None:
    """Print which traps clients have met, how they went on, and which they have not met."""
    if token is None:
        token = token_issuer(settings).issue(
            "comptoir rehearse", [Scope.FAULTS], None, CONTROL_TOKEN_LIVES
        )
    found = read_report(ControlClient(url or settings.listening_url, token))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        for text in report_lines(found):
            click.echo(text)
    missing = [each for each in require or () if each not in found or not found[each].met]
    if missing:
        raise problems.TRAPS_NOT_MET(traps=", ".join(missing))
