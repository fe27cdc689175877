"""The bare driver: the cost of a statement, including the fetch of its rows."""

from collections.abc import Sequence
from contextlib import closing
from itertools import cycle
from pathlib import Path
from time import process_time

from comptoir.store.sqlite.connection import connect

_FEWEST = 3


def cpu_of(
    database: Path, statement: str, values: Sequence[Sequence[str]], seconds: float
) -> float:
    """The CPU of a statement in µs, measured over `seconds` with each of `values` in turn.

    It runs on a connection that the service's own code opens, with the same cache and functions.
    """
    with closing(connect(database, writes=False, lock_seconds=5)) as connection:
        count, before, asked = 0, process_time(), cycle(values)
        while count < _FEWEST or process_time() - before < seconds:
            connection.execute(statement, next(asked)).fetchall()
            count += 1
        return (process_time() - before) / count * 1e6
