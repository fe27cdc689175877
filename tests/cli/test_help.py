"""The help of every command fits the terminal, and shows every word whole."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from comptoir.cli.main import app
from support.command import Command


def walked(held: object, *path: str) -> Iterator[tuple[tuple[str, ...], TyperCommand | TyperGroup]]:
    """Every command and group with the words that call it."""
    assert isinstance(held, TyperCommand | TyperGroup)
    yield path, held
    if isinstance(held, TyperGroup):
        for name, each in held.commands.items():
            yield from walked(each, *path, name)


COMMANDS = dict(walked(get_command(app)))


def texts(held: TyperCommand | TyperGroup) -> Iterator[str]:
    """What the help of a command has to show."""
    yield held.help or ""
    for each in held.params:
        assert isinstance(each, TyperArgument | TyperOption)
        yield each.help or ""
        yield from each.opts if isinstance(each, TyperOption) else [each.metavar or ""]
        yield str(each.envvar or "")
    if isinstance(held, TyperGroup):
        for name, inner in held.commands.items():
            yield name
            yield (inner.help or "").partition("\n\n")[0]


def words(text: str) -> set[str]:
    return {each.strip("[];,") for each in text.split()}


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(["comptoir", *path]))
def test_help_shows_every_word_at_any_width(
    path: tuple[str, ...], columns: int, command: Command
) -> None:
    shown = replace(command, columns=columns).done(*path, "--help").out
    assert [line for line in shown.splitlines() if len(line) > columns] == []
    wanted = {word for text in texts(COMMANDS[path]) for word in words(text)}
    assert wanted - words(shown) == set()


def test_a_wide_terminal_has_descriptions_beside_and_a_narrow_one_below(command: Command) -> None:
    beside = replace(command, columns=80).done("token", "--help").out
    below = replace(command, columns=40).done("token", "--help").out
    assert "  --company GUID    A company that the token reaches;" in beside
    assert "  --company GUID\n      A company that the token reaches;\n" in below
