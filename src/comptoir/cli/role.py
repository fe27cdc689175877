"""`comptoir role`: add, list and remove the roles of clients."""

from pathlib import Path
from typing import Annotated

import typer

from comptoir.auth import Role, parse_roles
from comptoir.catalog import MODEL
from comptoir.cli import options
from comptoir.cli.help import Command, Group
from comptoir.cli.runner import database_settings, need_database, opened, operator, run
from comptoir.config import Settings
from comptoir.errors import OperatorError
from comptoir.files import read_whole

app = typer.Typer(
    name="role",
    help="Add, list and remove roles, which restrict what clients may do with each entity set.",
    cls=Group,
    rich_markup_mode=None,
    add_completion=False,
)


@app.command(cls=Command)
def apply(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A TOML file with a table for each role.")
    ],
    *,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Add the roles of a file, and replace those that have the same names.

    A role has the letters of its rights for each entity set: R to read, I to insert, M to modify, D
    to delete. "*" is every other entity set. Within two seconds, every service obeys the roles.
    """
    settings = database_settings(database, config)
    roles = parse_roles(_text(file), [each.name for each in MODEL.per_company])
    need_database(settings)
    run(lambda: _put(settings, roles))
    for each in roles:
        typer.echo(f"{each.name}: applied")


@app.command(cls=Command)
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the role.")],
    *,
    database: options.Database = None,
    config: options.Config = None,
) -> None:
    """Remove a role that no client has."""
    settings = database_settings(database, config)
    need_database(settings)
    run(lambda: _remove(settings, name))
    typer.echo(f"{name}: removed")


@app.command("list", cls=Command)
def list_roles(*, database: options.Database = None, config: options.Config = None) -> None:
    """List the roles by name, one on each line, with the letters for each entity set."""
    settings = database_settings(database, config)
    need_database(settings)
    for each in run(lambda: _all(settings)):
        typer.echo(f"{each.name} {each.listed}".rstrip())


def _text(file: Path) -> str:
    remedy = "Name a file with roles in TOML, in UTF-8."
    try:
        return read_whole(file, remedy).decode()
    except UnicodeDecodeError as error:
        raise OperatorError(f"{file} cannot be read: {error}", remedy) from error


async def _put(settings: Settings, roles: list[Role]) -> None:
    async with opened(settings) as store:
        await store.control.put_roles(roles, operator())


async def _remove(settings: Settings, name: str) -> None:
    async with opened(settings) as store:
        await store.control.remove_role(name, operator())


async def _all(settings: Settings) -> list[Role]:
    async with opened(settings) as store:
        return await store.control.roles()
