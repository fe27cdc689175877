"""`comptoir client` and `comptoir role`: the clients of the token endpoint, and their roles."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
import msgspec

from comptoir.auth.audit import Act, ActName
from comptoir.auth.client_keys import LARGEST_FILE, parse_client_key
from comptoir.auth.fields import (
    CLIENT_FIELDS,
    LONGEST_DAYS,
    SCOPES,
    USUAL_DAYS,
    changes_listed,
    checked_name,
    client_terms,
    new_client,
    secret_for,
)
from comptoir.auth.limits import DAY
from comptoir.auth.records import Client
from comptoir.auth.roles import parse_roles
from comptoir.cli.options import PATH, options_of
from comptoir.cli.runner import operator, store_command, warn_of_unknown
from comptoir.config import read_whole
from comptoir.errors import operator_rows as problems
from comptoir.store.store import Store

NAME = click.argument("name", metavar="NAME", help="The client's name.")
_DAYS = partial(click.option, "--days", type=click.IntRange(1, LONGEST_DAYS))


@click.group()
def client() -> None:
    """Add, change and remove clients, which get tokens from the token endpoint."""


@client.command()
@NAME
@options_of(replace(SCOPES, is_required=True), *CLIENT_FIELDS[1:])
@_DAYS(help=f"The days for which the secret is valid; by default {USUAL_DAYS}.")
@click.option("--no-secret", is_flag=True, help="Add no secret, for a client that has keys.")
@store_command
async def add(
    store: Store, *, name: str, days: int | None, no_secret: bool, **given: object
) -> None:
    """Add a client. Print its id, and on the last line its secret, which is not stored.

    A client without a secret needs a key (`comptoir client key add`).
    """
    checked_name(name, "a client")
    if no_secret and days is not None:
        raise problems.DAYS_WITHOUT_SECRET()
    lasts = None if no_secret else days or USUAL_DAYS
    client, secret = new_client(name, lasts, **client_terms(given))
    await store.control.add_client(client, operator())
    click.echo("\n".join(filter(None, (client.id, secret))))
    await warn_of_unknown(store, client.companies or ())


@client.command("list")
@store_command
async def list_clients(store: Store) -> None:
    """List the clients by name, one on each line: name, id, state, scopes, roles, companies.

    The limits follow, then the secrets, each by its first characters and its end, and the keys by
    id and end.
    """
    for each in (await store.control.load()).clients.values():
        click.echo(" ".join([each.name, each.id, each.state, *each.listed]))


@client.command()
@NAME
@options_of(*CLIENT_FIELDS)
@click.option(
    "--without",
    type=click.Choice(["roles", "companies", "rate", "quota"]),
    metavar="PART",
    multiple=True,
    help="A part to remove: roles, companies, rate or quota. May be repeated.",
)
@store_command
async def change(store: Store, name: str, without: Sequence[str], **given: object) -> None:
    """Change what a client may do, in the parts that are named.

    Within two seconds, every service obeys the change. What is added is in tokens given from then.
    """
    changes = client_terms(given)
    for each in without:
        if each in changes:
            raise problems.SET_AND_REMOVED(part=each)
        changes[each] = None
    if not changes:
        raise problems.NO_CHANGES()
    act = Act(operator(), ActName.CLIENT_CHANGE, name, changes_listed(changes))
    await store.control.change_client(partial(msgspec.structs.replace, **changes), act)
    click.echo(f"{name}: changed")


@client.command()
@NAME
@store_command
async def disable(store: Store, name: str) -> None:
    """Disable a client. Within two seconds, every service refuses its secrets and its tokens."""
    act = Act(operator(), ActName.CLIENT_DISABLE, name)
    await store.control.change_client(Client.disabled, act)
    click.echo(f"{name}: disabled")


@client.command()
@NAME
@store_command
async def enable(store: Store, name: str) -> None:
    """Enable a disabled client. Tokens that it got before remain refused."""
    act = Act(operator(), ActName.CLIENT_ENABLE, name)
    await store.control.change_client(lambda client: client.enabled(time.time()), act)
    click.echo(f"{name}: enabled")


@client.command()
@NAME
@store_command
async def remove(store: Store, name: str) -> None:
    """Remove a client with all it has. Within two seconds, every service refuses its tokens."""
    await store.control.remove_client(name, operator())
    click.echo(f"{name}: removed")


@client.group()
def secret() -> None:
    """Add a second secret to a client, and remove the first one."""


@secret.command("add")
@NAME
@_DAYS(default=USUAL_DAYS, help="The days for which the secret is valid.")
@store_command
async def add_secret(store: Store, name: str, days: int) -> None:
    """Add a secret to a client, which may have two, and print it on the last line."""
    added, text = secret_for(days)
    await store.control.add_secret(name, added, operator())
    click.echo(text)


@secret.command("remove")
@NAME
@click.argument(
    "hint", metavar="HINT", help="The secret's first characters, as `comptoir client list` prints."
)
@store_command
async def remove_secret(store: Store, name: str, hint: str) -> None:
    """Remove a secret of a client. Tokens that the client has remain valid until their end."""
    await store.control.remove_secret(name, hint, operator())
    click.echo(f"{name}: secret {hint}… removed")


@client.group()
def key() -> None:
    """Add public keys to a client, and remove them."""


@key.command("add")
@NAME
@click.argument(
    "file", type=PATH, metavar="FILE", help="A PEM file with a public key or a certificate."
)
@_DAYS(
    default=USUAL_DAYS,
    help="The days for which the key is valid; that of a certificate ends with it.",
)
@store_command
async def add_key(store: Store, name: str, file: Path, days: int) -> None:
    """Add a public key to a client, which may have five, and print its id (kid).

    The client signs assertions with the private key instead of sending a secret.
    """
    now = int(time.time())
    content = read_whole(file, problems.FILE_OF_KEY, LARGEST_FILE)
    added = parse_client_key(content, str(file), now, now + days * DAY)
    await store.control.add_key(name, added, operator())
    click.echo(added.kid)


@key.command("remove")
@NAME
@click.argument("kid", metavar="KID", help="The key's id, as `comptoir client list` prints.")
@store_command
async def remove_key(store: Store, name: str, kid: str) -> None:
    """Remove a key of a client. Tokens that the client has remain valid until their end."""
    await store.control.remove_key(name, kid, operator())
    click.echo(f"{name}: key {kid} removed")


@click.group()
def role() -> None:
    """Add, list and remove roles, which restrict what clients may do with each entity set."""


@role.command()
@click.argument("file", type=PATH, metavar="FILE", help="A TOML file with a table for each role.")
@store_command
async def apply(store: Store, file: Path) -> None:
    """Add the roles of a file, and replace those that have the same names.

    A role has the letters of its rights for each entity set: R to read, I to insert, M to modify, D
    to delete. "*" is every other entity set. Within two seconds, every service obeys the roles.
    """
    try:
        text = read_whole(file, problems.FILE_OF_ROLES).decode()
    except UnicodeDecodeError as error:
        raise problems.UNREADABLE(path=file, reason=error, remedy=problems.FILE_OF_ROLES) from error
    roles = parse_roles(text, [each.name for each in store.statements.model.per_company])
    await store.control.put_roles(roles, operator())
    for each in roles:
        click.echo(f"{each.name}: applied")


@role.command("remove")
@click.argument("name", metavar="NAME", help="The name of the role.")
@store_command
async def remove_role(store: Store, name: str) -> None:
    """Remove a role that no client has."""
    await store.control.remove_role(name, operator())
    click.echo(f"{name}: removed")


@role.command("list")
@store_command
async def list_roles(store: Store) -> None:
    """List the roles by name, one on each line, with the letters for each entity set."""
    for each in await store.control.roles():
        click.echo(f"{each.name} {each.listed}".rstrip())
