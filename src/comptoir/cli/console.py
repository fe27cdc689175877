"""`comptoir console`: print a link that logs in to the web console."""

import time
from typing import Annotated

import typer

from comptoir.auth.logins import ConsoleRole, Login, checked_subject, new_secret
from comptoir.auth.origins import serves_console
from comptoir.cli import options
from comptoir.cli.runner import need_database, opened, operator, run, warn, warn_of_missing
from comptoir.cli.running import console_address
from comptoir.config import Settings, load_settings
from comptoir.messages import message

_UNSERVED = "the service does not serve the console with these settings. Set console to on."
_NONE_RUNS = (
    "Start it with `comptoir serve`, or name the address of one on another machine with "
    "--public-url."
)


def console(  # noqa: PLR0913 - an option each
    *,
    role: Annotated[
        ConsoleRole,
        typer.Option(
            "--role",
            help="What the user may do: viewers see, editors also write records, admins do all.",
        ),
    ] = ConsoleRole.ADMIN,
    subject: Annotated[
        str | None,
        typer.Option(
            "--subject",
            metavar="NAME",
            help="The user's name, for the change log and the audit log; by default, that of the "
            "account that runs the command.",
            show_default=False,
        ),
    ] = None,
    company: Annotated[
        list[str] | None,
        typer.Option(
            "--company",
            metavar="GUID",
            help="A company that the user can access. May be repeated; by default, all companies.",
            show_default=False,
        ),
    ] = None,
    end: Annotated[
        bool,
        typer.Option(
            "--end", help="End all sessions of the user instead, and the links not yet opened."
        ),
    ] = False,
    database: options.Database = None,
    host: options.Host = None,
    port: options.Port = None,
    public_url: options.PublicUrl = None,
    config: options.Config = None,
) -> None:
    """Print a link that logs in to the web console.

    It works once, within ten minutes, and leads to the service that runs on this machine with the
    same database. Name the address of another one as for `comptoir serve`.
    """
    settings = load_settings(
        {
            "database": database,
            "host": host,
            "port": port,
            "public_url": public_url,
            "config": config,
        }
    )
    companies = options.token_companies(company)
    login = Login(checked_subject(subject or account()), role, companies)
    need_database(settings)
    if end:
        run(lambda: _end(settings, login.subject))
        typer.echo(f"{login.subject}: all sessions ended")
        return
    is_named = any(each is not None for each in (host, port, public_url))
    address = _named_address(settings) if is_named else _running_address(settings)
    typer.echo(run(lambda: console_link(settings, login, address)))
    if companies:
        run(lambda: warn_of_missing(settings, companies))


def account() -> str:
    """The name of the account that runs the command."""
    return operator().by.partition(":")[2]


def _named_address(settings: Settings) -> str:
    """The address by the settings; warns if they serve no console."""
    if not serves_console(settings):
        warn(_UNSERVED)
    return settings.console_url


def _running_address(settings: Settings) -> str:
    """The address of the running service, or else by the settings; warns without a console."""
    found = console_address(settings)
    if found is None:
        warn(message("no service runs here with this database", _NONE_RUNS))
    elif not found:
        warn(_UNSERVED)
    return found or settings.console_url


async def console_link(settings: Settings, login: Login, address: str) -> str:
    """A link that begins a session of a login, once and within ten minutes."""
    code = new_secret()
    async with opened(settings) as store:
        await store.control.logins.add_code(code, login, int(time.time()), operator())
    return f"{address}/login#{code}"


async def _end(settings: Settings, subject: str) -> None:
    async with opened(settings) as store:
        await store.control.logins.end_all(subject, operator())
