"""Commands whose help fits the terminal: lines wrap between words at any width."""

import gc
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pkgutil import resolve_name
from textwrap import wrap
from typing import TypeGuard

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command
from typing_extensions import override

from comptoir.cli import interrupt
from comptoir.errors import OperatorError

WIDEST = 100
"""The longest line of a help text, in characters."""

USAGE_ERROR = 2
"""The exit status after a call without a subcommand."""

_TWO_COLUMNS = 72
"""The smallest width with a term and its description side by side."""

_USAGE_ROOM = 20
"""The smallest space for the arguments beside the name of the command."""

_Rows = Sequence[tuple[str, str]]
_Parsed = tuple[str | None, TyperCommand | TyperGroup | None, list[str]]


class _Page:
    """A help text; a word longer than a line is not split."""

    def __init__(self) -> None:
        self._width = min(shutil.get_terminal_size().columns, WIDEST)
        self._lines: list[str] = []

    def __str__(self) -> str:
        return "\n".join(line.rstrip() for line in self._lines)

    def usage(self, path: str, arguments: str) -> None:
        """Add the usage line."""
        start = f"Usage: {path} "
        if self._width >= len(start) + _USAGE_ROOM:
            first, indent = start, " " * len(start)
        else:
            self._lines.append(start)
            first = indent = " " * (len("Usage: ") + 4)
        self._lines += wrap(arguments, self._width, initial_indent=first, subsequent_indent=indent)

    def text(self, text: str) -> None:
        """Add a description."""
        for paragraph in _paragraphs(text):
            self._lines += ["", *self._wrapped(paragraph, 2)]

    def table(self, title: str, rows: _Rows) -> None:
        """Add a section of terms and their descriptions, if there are any."""
        if rows:
            self._lines += ["", f"{title}:"]
        if self._width < _TWO_COLUMNS:
            for term, text in rows:
                self._lines += [f"  {term}", *self._wrapped(text, 6)]
            return
        beside = max((len(term) for term, _ in rows), default=0) + 4
        for term, text in rows:
            first, *others = self._wrapped(text, beside) or [""]
            self._lines += [f"  {term}".ljust(beside) + first.lstrip(), *others]

    def _wrapped(self, text: str, indent: int) -> list[str]:
        space = " " * indent
        return wrap(
            text,
            self._width,
            initial_indent=space,
            subsequent_indent=space,
            break_long_words=False,
            break_on_hyphens=False,
        )


class Command(TyperCommand):
    """A command whose help fits the terminal."""

    context_class = typer.Context

    @override
    def get_help_option(self, ctx: object) -> TyperOption | None:
        return _quick(super().get_help_option(_context(ctx)))

    @override
    def get_help(self, ctx: object) -> str:
        return str(_started(self, _context(ctx)))

    @override
    def get_short_help_str(self, limit: int = 45) -> str:
        return summary(self)

    @override
    def invoke(self, ctx: object) -> object:
        interrupt.raise_again()
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return super().invoke(_context(ctx))


class Group(TyperGroup):
    """A group of commands whose help fits the terminal; without a command it shows its help."""

    context_class = typer.Context
    removed: Mapping[str, str] = {}
    """Commands that are removed, and what replaces them."""

    @override
    def get_help_option(self, ctx: object) -> TyperOption | None:
        return _quick(super().get_help_option(_context(ctx)))

    @override
    def get_help(self, ctx: object) -> str:
        page = _started(self, _context(ctx))
        page.table("Commands", [(name, summary(each)) for name, each in self._listed()])
        return str(page)

    @override
    def get_short_help_str(self, limit: int = 45) -> str:
        return summary(self)

    @override
    def parse_args(self, ctx: object, args: list[str]) -> list[str]:
        context = _context(ctx)
        if not args and not context.resilient_parsing:
            typer.echo(self.get_help(context))
            raise typer.Exit(USAGE_ERROR)
        return super().parse_args(context, args)

    @override
    def resolve_command(self, ctx: object, args: list[str]) -> _Parsed:
        if args[0] in self.removed:
            raise OperatorError(
                f"the command {args[0]} is removed", f"Use `{self.removed[args[0]]}`."
            )
        name, found, rest = super().resolve_command(_context(ctx), args)
        return name, None if found is None else _imported(found), rest

    def subcommands(self) -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
        """Import every command of the group, and yield it with its name."""
        for name, each in self._listed():
            yield name, _imported(each)

    def _listed(self) -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
        for name, each in self.commands.items():
            yield name, _known(each)


class _Option(TyperOption):
    """An option that converts texts and numbers itself.

    `typer` converts every value by pydantic, whose import costs as much as that of `typer`.
    """

    @override
    def process_value(self, ctx: object, value: object) -> object:
        annotation = self.type_descriptor.annotation
        if value is None and not self.required:
            found: object = () if self.multiple else None
        elif annotation is str and isinstance(value, str):
            found = value
        elif annotation == list[str] and isinstance(value, tuple | list) and value:
            found = list(value)
        elif annotation is int and self.min is self.max is None and _is_number(value):
            found = int(value)
        else:
            return super().process_value(_context(ctx), value)
        return found if self.callback is None else self.callback(_context(ctx), self, found)


def _is_number(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value.isascii() and value.isdigit()


class LateCommand(Command):
    """The name of a command and its line of help; a call imports the command.

    `target` names a function or a group of `typer` as `package.module:name`.
    """

    def __init__(self, name: str, target: str, line: str) -> None:
        super().__init__(name, help=line, rich_markup_mode=None)
        self._target = target

    def imported(self) -> TyperCommand | TyperGroup:
        """Import the command."""
        found = resolve_name(self._target)
        if isinstance(found, typer.Typer):
            return built(found)
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        app.command(self.name, cls=Command)(found)
        return built(app)


def summary(command: object) -> str:
    """The first paragraph of a command's help."""
    return next(_paragraphs(_known(command).help or ""), "")


def _started(command: TyperCommand | TyperGroup, context: typer.Context) -> _Page:
    """The help text of a command, up to and including its options."""
    page = _Page()
    page.usage(context.command_path, " ".join(command.collect_usage_pieces(context)))
    page.text(command.help or "")
    arguments: list[tuple[str, str]] = []
    options: list[tuple[str, str]] = []
    for each in command.get_params(context):
        row = each.get_help_record(context)
        if row is not None:
            (arguments if each.param_type_name == "argument" else options).append(row)
    page.table("Arguments", arguments)
    page.table("Options", options)
    return page


def built(app: typer.Typer) -> TyperCommand | TyperGroup:
    """The command of a declaration, with options that `_Option` parses."""
    command = _known(get_command(app))
    _quicken(command)
    return command


def _quick(option: TyperOption | None) -> TyperOption | None:
    """The option as an `_Option`; typer has no setting for the class of its options."""
    if option is not None:
        option.__class__ = _Option
    return option


def _quicken(command: TyperCommand | TyperGroup) -> None:
    for each in command.params:
        if isinstance(each, TyperOption):
            _quick(each)
    if isinstance(command, TyperGroup):
        for inner in command.commands.values():
            _quicken(_known(inner))


def _imported(command: object) -> TyperCommand | TyperGroup:
    return command.imported() if isinstance(command, LateCommand) else _known(command)


def _known(command: object) -> TyperCommand | TyperGroup:
    """A command by its exported type; the signatures of `typer` name a private base class."""
    if not isinstance(command, TyperCommand | TyperGroup):
        raise TypeError(f"typer returned a {type(command).__name__}, not a command")
    return command


def _context(context: object) -> typer.Context:
    """A context by its exported type; the signatures of `typer` name a private base class."""
    if not isinstance(context, typer.Context):
        raise TypeError(f"typer returned a {type(context).__name__}, not a context")
    return context


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a text, each on one line."""
    for each in text.split("\n\n"):
        if each.strip():
            yield " ".join(each.split())
