"""Files that are read whole."""

import os
import stat
from pathlib import Path

from comptoir.errors import operator_rows as problems

LARGEST = 1 << 20
"""The most bytes of a file that is read whole, unless its reader allows fewer."""


def read_whole(path: Path, remedy: str, most: int = LARGEST) -> bytes:
    """The content of a regular file of up to `most` bytes.

    Raises `OperatorError` with the remedy, also for a device or a pipe, which may have no end.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise problems.NOT_REGULAR(path=path, remedy=remedy)
            content = file.read(most + 1)
    except OSError as error:
        raise problems.UNREADABLE(path=path, reason=error.strerror, remedy=remedy) from error
    if len(content) > most:
        raise problems.LARGE_FILE(path=path, kib=most >> 10, remedy=remedy)
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe would wait for its writer."""
    return os.open(path, flags | os.O_NONBLOCK)
