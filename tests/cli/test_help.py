"""Help, completion and usage errors."""

import pytest

from comptoir.cli.main import SUBCOMMANDS, imported
from support.command import Command
from support.processes import Process
from support.together import together


@together("name", SUBCOMMANDS)
def test_the_table_of_subcommands_has_the_first_paragraph_of_their_help(name: str) -> None:
    text = imported(name).help or ""
    assert " ".join(text.partition("\n\n")[0].split()) == SUBCOMMANDS[name][1]


def test_every_command_has_help(command: Command) -> None:
    assert command.done("--version").out.startswith("comptoir ")
    assert "--help" in command.run("--help").out
    for name in SUBCOMMANDS:
        assert "--help" in command.done(name, "--help").out
    for name in ("create", "list"):
        assert "--database" in command.done("company", name, "--help").out


def test_help_lists_the_variable_and_the_default_of_a_setting(command: Command) -> None:
    shown = " ".join(command.done("serve", "--help").out.split())
    assert "--port INTEGER The port to listen on; 0 selects a free one. " in shown
    assert "[env var: COMPTOIR_PORT; default: (8080)]" in shown


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
        ("comptoir company ", ["create", "delete", "list", "rename", "renew"]),
        ("comptoir token --s", ["--scope", "--subject"]),
        ("comptoir dump --format ", ["ndjson", "csv"]),
    ],
)
def test_a_shell_completes_commands_options_and_values(
    typed: str, expected: list[str], command: Command
) -> None:
    environment = {
        **command.environment,
        "COMP_WORDS": typed,
        "COMP_CWORD": str(typed.count(" ")),
        "_COMPTOIR_COMPLETE": "bash_complete",
    }
    with Process([], environment, command.folder) as process:
        lines = process.stdout.read().decode().splitlines()
    assert lines == [f"plain,{each}" for each in expected]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["tokem"], "comptoir: No such command 'tokem'. Did you mean 'token'? Try --help."),
        (["token", "--ttl"], "comptoir: Option '--ttl' requires an argument. Try --help."),
        (["token", "--port", "1"], "comptoir: No such option '--port'. Try --help."),
    ],
)
def test_a_usage_error_ends_with_its_remedy(
    arguments: list[str], error: str, command: Command
) -> None:
    assert command.run(*arguments).error() == error
