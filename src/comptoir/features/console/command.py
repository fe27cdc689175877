"""`comptoir console`: print a link that logs in to the web console."""

import time

import click

from comptoir.auth.fields import token_companies
from comptoir.auth.origins import CONSOLE
from comptoir.auth.records import ConsoleRole, Login
from comptoir.cli.options import checked, settings_options
from comptoir.cli.runner import model_of, need_database, operator, use_store, warn, warn_of_missing
from comptoir.config import Settings
from comptoir.errors.messages import message
from comptoir.features.console.logins import Logins, checked_subject, new_secret
from comptoir.features.console.running import console_address, serves_console

_UNSERVED = "the service does not serve the console with these settings. Set console to on."
_NONE_RUNS = (
    "Start it with `comptoir serve`, or name the address of one on another machine with "
    "--public-url."
)


@click.command()
@click.option(
    "--role",
    type=click.Choice(ConsoleRole, case_sensitive=False),
    default="admin",
    help="What the user may do: viewers see, editors also write records, admins do all.",
)
@click.option(
    "--subject",
    metavar="NAME",
    help="The user's name, for the change log and the audit log; by default, that of the account "
    "that runs the command.",
)
@click.option(
    "--company",
    "companies",
    metavar="GUID",
    multiple=True,
    callback=checked(token_companies),
    help="A company that the user can access. May be repeated; by default, all companies.",
)
@click.option(
    "--end",
    is_flag=True,
    help="End all sessions of the user instead, and the links not yet opened.",
)
@settings_options("database", "host", "port", "public_url")
def console(
    settings: Settings,
    role: ConsoleRole,
    subject: str | None,
    companies: frozenset[str] | None,
    end: bool,
) -> None:
    """Print a link that logs in to the web console.

    It works once, within ten minutes, and leads to the service that runs on this machine with the
    same database. Name the address of another one as for `comptoir serve`.
    """
    login = Login(checked_subject(subject or account()), role, companies)
    model, by = need_database(settings), operator()
    if end:
        use_store(settings, lambda store: Logins(store.control).end_all(login.subject, by), model)
        click.echo(f"{login.subject}: all sessions ended")
        return
    given = click.get_current_context().params
    is_named = any(given[each] is not None for each in ("host", "port", "public_url"))
    click.echo(console_link(settings, login, _address(settings, is_named=is_named)))
    if companies:
        warn_of_missing(settings, companies)


def first_link(settings: Settings, address: str) -> str:
    """A link that logs in the account that runs the command, with all rights."""
    return console_link(settings, Login(account(), ConsoleRole.ADMIN, None), address)


def account() -> str:
    """The name of the account that runs the command."""
    return operator().by.partition(":")[2]


def _address(settings: Settings, *, is_named: bool) -> str:
    """The address of the running service, else by the settings; warns without a console.

    Where the settings name the address, no running service is looked for.
    """
    found = None if is_named else console_address(settings)
    if found is None and not is_named:
        warn(message("no service runs here with this database", _NONE_RUNS))
    elif not found and not (is_named and serves_console(settings)):
        warn(_UNSERVED)
    return found or settings.beside_api(CONSOLE)


def console_link(settings: Settings, login: Login, address: str) -> str:
    """A link that begins a session of a login, once and within ten minutes."""
    code, now, by, model = new_secret(), int(time.time()), operator(), model_of(settings)
    use_store(settings, lambda store: Logins(store.control).add_code(code, login, now, by), model)
    return f"{address}/login#{code}"
