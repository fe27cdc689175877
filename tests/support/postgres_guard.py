"""Stops the server and removes its files after the tests, even after a kill.

postgres_guard.py LOCK FOLDER UID GID COMMAND…

It runs in the background, and waits until no process has the lock of the file LOCK; a killed
process releases it too. If FOLDER still exists, it runs COMMAND as the user and group, and removes
FOLDER. A negative UID means the user and group that started it.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path


def guard(lock: Path, folder: Path, uid: int, gid: int, command: list[str]) -> None:
    with lock.open() as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        if folder.exists():
            is_other = uid >= 0
            subprocess.run(
                command,
                cwd="/",
                check=False,
                user=uid if is_other else None,
                group=gid if is_other else None,
                extra_groups=() if is_other else None,
            )
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _lock, _folder, _uid, _gid, *_command = sys.argv[1:]
    if os.fork() == 0:
        os.setsid()
        guard(Path(_lock), Path(_folder), int(_uid), int(_gid), _command)
