"""A private folder that the processes of a service share."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER = "COMPTOIR_INSPECTOR_FOLDER"
"""The environment variable by which the workers of a service share their folder."""

_PREFIX = "comptoir-inspector-"
_LOCK = "lock"


@contextmanager
def private_folder() -> Iterator[Path]:
    """A temporary folder that only this user may read.

    Its lock is held as long as its process lives, so others know when they may remove it.
    """
    _remove_abandoned()
    made = Path(tempfile.mkdtemp(prefix=f"new-{_PREFIX}"))
    lock = os.open(made / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # only now others look at it
        folder = made.rename(made.with_name(made.name.removeprefix("new-")))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _remove_abandoned() -> None:
    """Remove the folders of this user whose processes were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
