"""`comptoir rehearse`: what the clients of a service with faults have met."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer

from comptoir.auth import Scope, token_issuer
from comptoir.cli import options
from comptoir.cli.help import Command, Group
from comptoir.config import environment_name, load_settings
from comptoir.errors import OperatorError
from comptoir.messages import quoted, suggestion
from comptoir.rehearsal import Trap
from comptoir.testing.control import CONTROL_TOKEN_LIVES, ControlClient
from comptoir.testing.report import read_report, report_lines

app = typer.Typer(
    name="rehearse",
    help="Report what the clients of a service with faults have met.",
    cls=Group,
    rich_markup_mode=None,
    add_completion=False,
)


@app.callback()
def _several() -> None:
    """Report what the clients of a service with faults have met."""


@app.command(cls=Command)
def report(
    *,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            envvar=environment_name("url"),
            help="The address of the service; by default, the one of the settings.",
            show_default=False,
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar=environment_name("token"),
            help="A token with the scope faults; by default, one is issued by the service's keys.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with all counts.", show_default=False)
    ] = False,
    require: Annotated[
        str,
        typer.Option(
            "--require",
            metavar="TRAPS",
            envvar=environment_name("require"),
            help="Fail unless each of these traps was met, such as throttling,stale-tag.",
            show_default=False,
        ),
    ] = "",
    keys: options.Keys = None,
    config: options.Config = None,
) -> None:
    """Print which traps clients have met, how they went on, and which they have not met."""
    settings = load_settings({"keys": keys, "config": config})
    required = _traps(require)
    if token is None:
        token = token_issuer(settings).issue(
            "comptoir rehearse", [Scope.FAULTS], None, CONTROL_TOKEN_LIVES
        )
    found = read_report(ControlClient(url or settings.listening_url, token))
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        for text in report_lines(found):
            typer.echo(text)
    missing = [each for each in required if each not in found or not found[each].met]
    if missing:
        raise OperatorError(
            f"no client has met {', '.join(missing)}",
            "Let a test meet them, for example by a rule of /faults.",
        )


def _traps(text: str) -> Sequence[Trap]:
    """The traps of a list; raises `OperatorError` for an unknown one."""
    names = [each.strip() for each in text.split(",") if each.strip()]
    for name in names:
        if name not in set(Trap):
            remedy = suggestion(name, Trap) or f"Use some of: {', '.join(Trap)}."
            raise OperatorError(f"unknown trap {quoted(name)} in --require", remedy)
    return [Trap(name) for name in names]
