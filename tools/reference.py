"""Writes the reference pages, or with --check says which of them are stale.

Usage: python tools/reference.py [--check] FOLDER
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from comptoir.catalog import MODEL
from comptoir.cli.main import app
from comptoir.config import HELP
from comptoir.errors import ERROR_TABLE
from comptoir.metadata.commands import (
    Command,
    Parameter,
    commands_page,
    split_marks,
    undocumented_commands,
)
from comptoir.metadata.reference import errors_page, kinds_page, settings_page, undocumented

ClickCommand = TyperGroup | TyperCommand
ClickParameter = TyperArgument | TyperOption


def commands() -> Iterator[Command]:
    """Every command that can be run, with those of groups, and first the command itself."""
    root = get_command(app)
    if not isinstance(root, TyperGroup):
        raise TypeError("comptoir has no subcommands")
    yield from _walk(root, "comptoir")


def _walk(command: ClickCommand, name: str) -> Iterator[Command]:
    context = typer.Context(command)
    parameters = tuple(
        _parameter(each, context)
        for each in command.params
        if isinstance(each, TyperArgument | TyperOption) and not getattr(each, "hidden", False)
    )
    help_text = " ".join((command.help or "").replace("\b", "").split())
    if not isinstance(command, TyperGroup) or parameters:
        yield Command(name, help_text, parameters)
    if isinstance(command, TyperGroup):
        for inner, each in command.commands.items():
            if isinstance(each, TyperGroup | TyperCommand) and not each.hidden:
                yield from _walk(each, f"{name} {inner}")


def _parameter(held: ClickParameter, context: typer.Context) -> Parameter:
    text, environment, default = split_marks(" ".join((held.help or "").split()))
    if isinstance(held.envvar, str):
        environment = held.envvar
    if not default and held.show_default and held.default not in (None, False, ()):
        default = str(held.default() if callable(held.default) else held.default)
    return Parameter(
        _name(held, context),
        text,
        environment,
        default,
        held.required,
        isinstance(held, TyperArgument),
    )


def _name(held: ClickParameter, context: typer.Context) -> str:
    if isinstance(held, TyperArgument):
        name = str(held.metavar or held.name or "").strip("[]").upper()
        return name if held.nargs == 1 else f"{name.rstrip('.…')}…"
    name = ", ".join([*held.opts, *held.secondary_opts])
    if not held.is_flag:
        name += f" {held.metavar or held.display_type(context)}"
    return f"{name} …" if held.multiple else name


def options_of_settings() -> Mapping[str, str]:
    """The option of each setting that some command takes as one."""
    found: dict[str, str] = {}
    for command in commands():
        for each in command.parameters:
            option = each.name.split()[0].strip(",")
            setting = option.removeprefix("--").replace("-", "_")
            if setting in HELP:
                found[setting] = option
    return found


def pages() -> Mapping[str, str]:
    """Every reference page by the name of its file."""
    return {
        "kinds.md": kinds_page(MODEL),
        "settings.md": settings_page(options_of_settings()),
        "errors.md": errors_page(ERROR_TABLE),
        "commands.md": commands_page(commands()),
    }


def faults(folder: Path) -> Iterator[str]:
    """What is not documented, and which pages are not what the declarations give now."""
    yield from undocumented(MODEL, ERROR_TABLE)
    yield from undocumented_commands(commands())
    for name, text in pages().items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            yield f"{path} is stale: run `make docs`"


def main() -> None:
    """Write the pages, or check them; exits with a status that is not 0 after a fault."""
    parser = argparse.ArgumentParser(description="The reference pages of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing, tell what is stale")
    parser.add_argument("folder", type=Path, help="where the pages stand")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    if not arguments.check:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages().items():
            (folder / name).write_text(text, encoding="utf-8")
    found = list(faults(folder))
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
