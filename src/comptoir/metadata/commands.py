"""The reference page of the commands, from a description that knows no command-line library."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from comptoir.metadata.markdown import code, page, table

_MARK = re.compile(r"\s*\[(?P<name>env(?: var)?|default): ?(?P<value>[^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument or an option; `name` is as it is typed, a repeated one ends in `…`."""

    name: str
    help: str
    environment: str = ""
    default: str = ""
    required: bool = False
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A command by its whole name, such as `comptoir company list`."""

    name: str
    help: str
    parameters: tuple[Parameter, ...] = ()

    @property
    def usage(self) -> str:
        """How it is typed."""
        arguments = [each.name for each in self.parameters if each.is_argument]
        options = any(not each.is_argument for each in self.parameters)
        return " ".join([self.name, *(["[OPTIONS]"] if options else []), *arguments])


def split_marks(text: str) -> tuple[str, str, str]:
    """A help text without its marks `[env: …]` and `[default: …]`, and what the two say."""
    found = {each["name"].split()[0]: each["value"] for each in _MARK.finditer(text)}
    return _MARK.sub("", text).strip(), found.get("env", ""), found.get("default", "")


def commands_page(commands: Iterable[Command]) -> str:
    """Every command with its arguments and options."""
    return page(
        "Commands",
        "`src/comptoir/cli`",
        "Errors go to the standard error stream in one line, with an exit status that is not 0. "
        "`--help` works everywhere.",
        *(_section(each) for each in commands),
    )


def _section(command: Command) -> str:
    parts = [f"## {command.name}", command.help, f"```\n{command.usage}\n```"]
    if command.parameters:
        parts.append(
            table(
                ("Argument or option", "What it is", "Default", "Environment"),
                (
                    (
                        code(each.name),
                        each.help,
                        _default(each),
                        code(each.environment) if each.environment else "",
                    )
                    for each in command.parameters
                ),
            )
        )
    return "\n\n".join(parts)


def _default(parameter: Parameter) -> str:
    if parameter.required:
        return "required"
    shown = parameter.default
    return code(shown) if shown not in ("", "none") else ""


def undocumented_commands(commands: Iterable[Command]) -> Iterator[str]:
    """The commands, arguments and options without a line of help."""
    for command in commands:
        if not command.help.strip():
            yield f"the command {command.name} has no help"
        for each in command.parameters:
            if not each.help.strip():
                yield f"{command.name} {each.name} has no help"
