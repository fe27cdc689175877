"""`comptoir rehearse`: what the clients of a service with faults have met."""

from collections.abc import Sequence

import click
import msgspec

from comptoir.auth.tokens import Scope, token_issuer
from comptoir.cli.options import checked, option_or_variable, settings_options
from comptoir.config import Settings
from comptoir.errors.messages import quoted, suggestion
from comptoir.features.rehearsal import errors as problems
from comptoir.features.rehearsal.client import (
    CONTROL_TOKEN_LIVES,
    ControlClient,
    read_report,
    report_lines,
)
from comptoir.features.rehearsal.traps import Trap


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
