"""What commands report: progress on a terminal, a line for each part, and totals."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from comptoir.transfer import Progress as Listener
from comptoir.transfer.copy import CopyReport
from comptoir.transfer.load import FAULTS_KEPT, LoadReport

_STAGES = {"check": "checking", "write": "writing"}


@contextmanager
def bar(name: str) -> Iterator[Listener]:
    """A progress bar on the standard error stream, when that is a terminal.

    It is told what is being done, to how many rows it was done, and to how many it is to be done.
    """
    if not sys.stderr.isatty():
        yield lambda _what, _done, _rows: None
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed} rows"),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as shown:
        task = shown.add_task(name, total=None)

        def show(what: str, done: int, rows: int) -> None:
            shown.update(task, description=what, completed=done, total=rows or None)

        yield show


@contextmanager
def progress(name: str) -> Iterator[Listener]:
    """A progress bar for the stages of a load."""
    with bar(name) as show:
        yield lambda stage, done, rows: show(f"{_STAGES[stage]} {name}", done, rows)


def tell(name: str, report: LoadReport) -> None:
    """Print the faults to the standard error stream, and what became of the source."""
    for fault in report.faults:
        place = ":".join([name, *([str(fault.line)] if fault.line else [])])
        column = f"{fault.column}: " if fault.column else ""
        typer.echo(f"{place}: {column}{fault.reason}", err=True)
    if len(report.faults) == FAULTS_KEPT and report.refused > FAULTS_KEPT:
        typer.echo(f"{name}: {report.refused} lines are refused; the first are shown.", err=True)
    typer.echo(f"{name}: {summary(report)}")


def summary(report: LoadReport) -> str:
    """What became of the rows, in words."""
    resumed = f", resumed at row {report.resumed_at}" if report.resumed_at else ""
    counted = (
        f"{report.rows} rows: {report.inserted} inserted, {report.updated} updated, "
        f"{report.unchanged} unchanged, {report.refused} refused{resumed}"
    )
    return counted if report.written else f"{counted}; nothing was written"


def tell_copy(name: str, report: CopyReport) -> None:
    """Print what became of a company that was copied."""
    found = [f"{report.records} records"]
    if report.was_complete:
        found.append("all of them there before")
    elif report.resumed_at:
        found.append(f"{report.resumed_at} of them there before")
    if report.followed:
        found.append(f"{report.followed} changes followed")
    typer.echo(f"{name}: {', '.join(found)}; equal up to change {report.number}")


def total(reports: list[LoadReport]) -> LoadReport:
    """The sum of several reports."""
    return LoadReport(
        rows=sum(each.rows for each in reports),
        inserted=sum(each.inserted for each in reports),
        updated=sum(each.updated for each in reports),
        unchanged=sum(each.unchanged for each in reports),
        refused=sum(each.refused for each in reports),
        written=any(each.written for each in reports),
    )
