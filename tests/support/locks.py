"""Locks between the processes of a test run: they end with the file, or with the process."""

import fcntl
from pathlib import Path
from typing import IO


def held_alone(path: Path) -> IO[str]:
    """An exclusively locked file, created if missing; closing it unlocks it."""
    return _held(path.open("a"), fcntl.LOCK_EX)


def held_with_others(path: Path) -> IO[str]:
    """A file with a shared lock until it is closed; raises `FileNotFoundError`."""
    return _held(path.open(), fcntl.LOCK_SH)


def _held(file: IO[str], mode: int) -> IO[str]:
    fcntl.flock(file, mode)
    return file
