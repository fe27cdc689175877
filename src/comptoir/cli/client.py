"""`comptoir client`: add, list, change and remove the clients of the token endpoint."""

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer
from msgspec.structs import replace

from comptoir.auth.audit import Act, ActName
from comptoir.auth.client_terms import (
    LARGEST_QUOTA,
    LONGEST_DAYS,
    USUAL_DAYS,
    changes_listed,
    checked_name,
    checked_roles,
    new_client,
    secret_for,
)
from comptoir.auth.limits import parse_rate
from comptoir.auth.records import Client
from comptoir.cli import client_key, client_secret, options
from comptoir.cli.client_secret import Name
from comptoir.cli.help import Command, Group
from comptoir.cli.runner import (
    database_settings,
    need_database,
    opened,
    operator,
    run,
    warn_of_missing,
)
from comptoir.cli.token import parse_scopes
from comptoir.config import Settings
from comptoir.errors import OperatorError


class Restriction(StrEnum):
    """What a client may be without; the value is the field of `Client`."""

    ROLES = "roles"
    COMPANIES = "companies"
    RATE = "rate"
    QUOTA = "quota"


Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="ROLE",
        help="A role of the client. May be repeated; without one, the client may do what its "
        "scopes allow.",
        show_default=False,
    ),
]
Companies = Annotated[
    list[str] | None,
    typer.Option(
        "--company",
        metavar="GUID",
        help="A company that the client can access. May be repeated; by default, all companies.",
        show_default=False,
    ),
]
MostRequests = Annotated[
    str | None,
    typer.Option(
        "--rate",
        metavar="RATE",
        help="The most requests in a time, such as 6000/300s; without it, any number.",
        show_default=False,
    ),
]
MostRecords = Annotated[
    int | None,
    typer.Option(
        "--quota",
        min=1,
        max=LARGEST_QUOTA,
        help="The most records that the client may read in a day of UTC; without it, any number.",
        show_default=False,
    ),
]

app = typer.Typer(
    name="client",
    help="Add, change and remove clients, which get tokens from the token endpoint.",
    cls=Group,
    rich_markup_mode=None,
    add_completion=False,
)
app.add_typer(client_secret.app)
app.add_typer(client_key.app)


@app.command(cls=Command)
def add(  # noqa: PLR0913 - an option each
    name: Name,
    *,
    scope: Annotated[
        str,
        typer.Option("--scope", help="The scopes that the client may have, separated by spaces."),
    ],
    role: Roles = None,
    company: Companies = None,
    rate: MostRequests = None,
    quota: MostRecords = None,
    days: Annotated[
        int | None,
        typer.Option(
            "--days",
            min=1,
            max=LONGEST_DAYS,
            help=f"The days for which the secret is valid; by default {USUAL_DAYS}.",
            show_default=False,
        ),
    ] = None,
    no_secret: Annotated[
        bool, typer.Option("--no-secret", help="Add no secret, for a client that has keys.")
    ] = False,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Add a client. Print its id, and on the last line its secret, which is not stored.

    A client without a secret needs a key (`comptoir client key add`).
    """
    settings = database_settings(database, config)
    checked_name(name, "a client")
    if no_secret and days is not None:
        raise OperatorError(
            "the options --days and --no-secret exclude each other",
            "Use --days of `comptoir client key add` for a key.",
        )
    companies = options.token_companies(company)
    added = [] if no_secret else [secret_for(days or USUAL_DAYS)]
    client = new_client(
        name,
        scopes=parse_scopes(scope),
        roles=None if role is None else checked_roles(role),
        companies=companies,
        rate=None if rate is None else parse_rate(rate),
        quota=quota,
        secrets=[secret for secret, _ in added],
    )
    need_database(settings)
    run(lambda: _add(settings, client))
    typer.echo("\n".join([client.id, *[text for _, text in added]]))
    if companies:
        # the company may be created later
        run(lambda: warn_of_missing(settings, companies))


@app.command("list", cls=Command)
def list_clients(*, database: options.Database = None, config: options.Config = None) -> None:
    """List the clients by name, one on each line: name, id, state, scopes, roles, companies.

    The limits follow, then the secrets, each by its first characters and its end, and the keys by
    id and end.
    """
    settings = database_settings(database, config)
    need_database(settings)
    for each in run(lambda: _all(settings)):
        typer.echo(" ".join([each.name, each.id, each.state, *each.listed]))


@app.command(cls=Command)
def change(  # noqa: PLR0913 - an option each
    name: Name,
    *,
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            help="The scopes that the client may have, separated by spaces.",
            show_default=False,
        ),
    ] = None,
    role: Roles = None,
    company: Companies = None,
    rate: MostRequests = None,
    quota: MostRecords = None,
    without: Annotated[
        list[Restriction] | None,
        typer.Option(
            "--without",
            metavar="PART",
            help="A part to remove: roles, companies, rate or quota. May be repeated.",
            show_default=False,
        ),
    ] = None,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Change what a client may do, in the parts that are named.

    Within two seconds, every service obeys the change. What is added is in tokens given from then.
    """
    settings = database_settings(database, config)
    changes: dict[str, object] = {}
    if scope is not None:
        changes["scopes"] = frozenset(parse_scopes(scope))
    if role:
        changes["roles"] = checked_roles(role)
    if company:
        changes["companies"] = options.token_companies(company)
    if rate is not None:
        changes["rate"] = parse_rate(rate)
    if quota is not None:
        changes["quota"] = quota
    for each in without or ():
        if each in changes:
            raise OperatorError(f"the part {each} is both set and removed", "Do one of them.")
        changes[each] = None
    if not changes:
        raise OperatorError("no option says what to change", "Use one of the options of --help.")
    need_database(settings)
    act = Act(operator(), ActName.CLIENT_CHANGE, name, changes_listed(changes))
    run(lambda: _change(settings, act, lambda client: replace(client, **changes)))
    typer.echo(f"{name}: changed")


@app.command(cls=Command)
def disable(
    name: Name, *, database: options.Database = None, config: options.Config = None
) -> None:
    """Disable a client. Within two seconds, every service refuses its secrets and its tokens."""
    settings = database_settings(database, config)
    need_database(settings)
    run(lambda: _change(settings, Act(operator(), ActName.CLIENT_DISABLE, name), Client.disabled))
    typer.echo(f"{name}: disabled")


@app.command(cls=Command)
def enable(name: Name, *, database: options.Database = None, config: options.Config = None) -> None:
    """Enable a disabled client. Tokens that it got before remain refused."""
    settings = database_settings(database, config)
    need_database(settings)
    act = Act(operator(), ActName.CLIENT_ENABLE, name)
    run(lambda: _change(settings, act, lambda client: client.enabled(time.time())))
    typer.echo(f"{name}: enabled")


@app.command(cls=Command)
def remove(name: Name, *, database: options.Database = None, config: options.Config = None) -> None:
    """Remove a client with all it has. Within two seconds, every service refuses its tokens."""
    settings = database_settings(database, config)
    need_database(settings)
    run(lambda: _remove(settings, name))
    typer.echo(f"{name}: removed")


async def _add(settings: Settings, client: Client) -> None:
    async with opened(settings) as store:
        await store.control.add_client(client, operator())


async def _all(settings: Settings) -> list[Client]:
    async with opened(settings) as store:
        return list((await store.control.load()).clients.values())


async def _change(settings: Settings, act: Act, changed: Callable[[Client], Client]) -> None:
    async with opened(settings) as store:
        await store.control.change_client(changed, act)


async def _remove(settings: Settings, name: str) -> None:
    async with opened(settings) as store:
        await store.control.remove_client(name, operator())
