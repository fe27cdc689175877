"""`comptoir role`: add, list and remove the roles of clients."""

from pathlib import Path

import click

from comptoir.auth.roles import parse_roles
from comptoir.catalog import MODEL
from comptoir.cli.options import PATH
from comptoir.cli.runner import operator, store_command
from comptoir.errors import operator_rows as problems
from comptoir.files import read_whole
from comptoir.store.store import Store


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
    roles = parse_roles(_text(file), [each.name for each in MODEL.per_company])
    await store.control.put_roles(roles, operator())
    for each in roles:
        click.echo(f"{each.name}: applied")


@role.command()
@click.argument("name", metavar="NAME", help="The name of the role.")
@store_command
async def remove(store: Store, name: str) -> None:
    """Remove a role that no client has."""
    await store.control.remove_role(name, operator())
    click.echo(f"{name}: removed")


@role.command("list")
@store_command
async def list_roles(store: Store) -> None:
    """List the roles by name, one on each line, with the letters for each entity set."""
    for each in await store.control.roles():
        click.echo(f"{each.name} {each.listed}".rstrip())


def _text(file: Path) -> str:
    try:
        return read_whole(file, problems.FILE_OF_ROLES).decode()
    except UnicodeDecodeError as error:
        raise problems.UNREADABLE(path=file, reason=error, remedy=problems.FILE_OF_ROLES) from error
