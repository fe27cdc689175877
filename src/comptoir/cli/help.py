"""Help texts that fit the terminal: they wrap between words, at any width."""

import shutil
from collections.abc import Iterator, Sequence
from textwrap import wrap

import typer
from typer._click.formatting import HelpFormatter
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

WIDEST = 100
"""The longest line of a help text, however wide the terminal is."""

_TWO_COLUMNS = 72
"""The least width at which a description stands beside what it describes."""


class _Formatter(HelpFormatter):
    """Writes help without cutting a word: one that is too long has a line to itself."""

    def __init__(
        self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None
    ) -> None:
        columns = shutil.get_terminal_size().columns
        super().__init__(indent_increment, width or min(columns, WIDEST), max_width)

    @override
    def write_text(self, text: str) -> None:
        lines = [line for each in _paragraphs(text) for line in ["", *self._wrapped(each)]]
        self._write_lines(lines[1:])

    @override
    def write_dl(
        self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        beside = max((len(term) for term, _ in rows), default=0) + col_spacing
        if self.width < _TWO_COLUMNS:
            for term, text in rows:
                self._write_lines([term, *self._wrapped(text, indent=4)])
            return
        for term, text in rows:
            first, *others = self._wrapped(text, beside) or [""]
            self._write_lines([term.ljust(beside) + first.lstrip(), *others])

    def _wrapped(self, text: str, indent: int = 0) -> list[str]:
        space = " " * indent
        return wrap(
            text,
            self.width - self.current_indent,
            initial_indent=space,
            subsequent_indent=space,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _write_lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.write(f"{' ' * self.current_indent}{line}".rstrip() + "\n")


class _Context(typer.Context):
    """Has help written by `_Formatter`."""

    formatter_class = _Formatter


class Command(TyperCommand):
    """A command whose help fits the terminal."""

    context_class = _Context

    @override
    def get_short_help_str(self, limit: int = 45) -> str:
        return next(_paragraphs(self.help or ""), "")


class Group(TyperGroup):
    """A group of commands whose help fits the terminal."""

    context_class = _Context

    @override
    def get_short_help_str(self, limit: int = 45) -> str:
        return next(_paragraphs(self.help or ""), "")


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a text, each on one line."""
    for each in text.split("\n\n"):
        if each.strip():
            yield " ".join(each.split())
