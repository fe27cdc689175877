"""The help of every command fits the terminal, without a cut word."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from comptoir.cli.help import Group, summary
from comptoir.cli.main import SUBCOMMANDS, command_line
from support.command import Command


def walked(held: object, *path: str) -> Iterator[tuple[tuple[str, ...], TyperCommand | TyperGroup]]:
    """Every command and group with the words that call it."""
    assert isinstance(held, TyperCommand | TyperGroup)
    yield path, held
    if isinstance(held, Group):
        for name, each in held.subcommands():
            yield from walked(each, *path, name)


COMMANDS = dict(walked(command_line()))


def texts(held: TyperCommand | TyperGroup) -> Iterator[str]:
    """The texts that the help of a command must show."""
    yield held.help or ""
    for each in held.params:
        assert isinstance(each, TyperArgument | TyperOption)
        yield each.help or ""
        yield from each.opts if isinstance(each, TyperOption) else [each.metavar or ""]
        yield str(each.envvar or "")
    if isinstance(held, Group):
        for name, inner in held.subcommands():
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


def test_descriptions_are_beside_the_terms_in_a_wide_terminal_and_below_in_a_narrow_one(
    command: Command,
) -> None:
    beside = replace(command, columns=80).done("token", "--help").out
    below = replace(command, columns=40).done("token", "--help").out
    assert "  --company GUID    A company that the token can access." in beside
    assert "  --company GUID\n      A company that the token can\n" in below


def test_the_table_of_subcommands_has_the_first_paragraph_of_their_help() -> None:
    listed = {(name,): line for name, (_, line) in SUBCOMMANDS.items()}
    assert listed == {path: summary(COMMANDS[path]) for path in COMMANDS if len(path) == 1}


@pytest.mark.parametrize("path", [(), ("company",)], ids=" ".join)
def test_a_group_without_a_command_shows_its_help_and_fails(
    path: tuple[str, ...], command: Command
) -> None:
    result = command.here(*path)
    assert result.status == 2
    assert result.err == ""
    assert result.out == command.done(*path, "--help").out


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("comptoir to", ["token"]),
        ("comptoir company ", ["create", "list", "renew", "delete"]),
        ("comptoir token --s", ["--scope", "--subject"]),
        ("comptoir dump --format ", ["ndjson", "csv"]),
    ],
)
def test_a_shell_completes_commands_options_and_values(
    typed: str, expected: list[str], command: Command
) -> None:
    given = [
        f"COMP_WORDS={typed}",
        f"COMP_CWORD={typed.count(' ')}",
        "_COMPTOIR_COMPLETE=complete_bash",
    ]
    assert command.run(through=["env", *given]).out.split() == expected


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["tokem"], "comptoir: No such command 'tokem'. Did you mean 'token'? Try --help."),
        (["token", "--ttl"], "comptoir: Option '--ttl' requires an argument. Try --help."),
        (["token", "--port", "1"], "comptoir: No such option: --port. Try --help."),
    ],
)
def test_a_usage_error_ends_with_its_remedy(
    arguments: list[str], fault: str, command: Command
) -> None:
    assert command.run(*arguments).fault() == fault
