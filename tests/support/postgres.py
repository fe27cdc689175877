"""A PostgreSQL server of the tests: on a free port, in a temporary folder."""

import asyncio
import fcntl
import hashlib
import hmac
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, Literal, Self, TypeVar
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import asyncpg
from typing_extensions import override

from support.locks import held_alone, held_with_others
from support.ports import LOOPBACK, free_port
from support.postgres_programs import Programs, postgres_programs
from support.waiting import until

T = TypeVar("T")
StopMode = Literal["smart", "fast", "immediate"]
STOP_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
Setting = str | int | bool

ROLE = "comptoir"
"""The role of the service, which owns its databases and has no rights beyond them."""
ADMINISTRATOR = "postgres"

MEMORY = Path("/dev/shm")
ROOM_BYTES = 8 << 30
"""What the databases of a run need, with a reserve; each has 450 files, slow on a disk."""

QUICK: Mapping[str, Setting] = {
    "fsync": False,
    "full_page_writes": False,
    "autovacuum": False,
    "max_wal_size": "256MB",
}
PLAIN: Mapping[str, Setting] = {
    "listen_addresses": LOOPBACK,
    "max_connections": 200,
    "shared_buffers": "64MB",
    "password_encryption": "scram-sha-256",
}

# only the tests and the server can enter the folder with the administrator's socket
ACCESS = f"""\
local all,replication {ADMINISTRATOR} trust
local all,replication all scram-sha-256
host  all,replication all {LOOPBACK}/32 scram-sha-256
"""


@dataclass(frozen=True)
class Place:
    """The address and the credentials of a server."""

    folder: Path
    port: int
    password: str

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def users(self) -> Path:
        """The lock file of the users of the server."""
        return self.folder / "users"

    def written(self) -> str:
        return f"{self.folder}\n{self.port}\n{self.password}"

    @classmethod
    def of(cls, written: str) -> Self:
        folder, port, password = written.splitlines()
        return cls(Path(folder), int(port), password)


class Databases:
    """The databases of a running server."""

    def __init__(self, place: Place, programs: Programs) -> None:
        self.place = place
        self.programs = programs
        self._numbers = count(1)
        self._name = f"t{uuid4().hex[:8]}"

    @property
    def port(self) -> int:
        return self.place.port

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.place.data

    @property
    def log(self) -> Path:
        """The log of the server."""
        return self.place.folder / "log"

    def url(self, database: str, *, over_socket: bool = False, password: str | None = None) -> str:
        """The URL of a database for the role of the service, over TCP or the Unix socket."""
        who = f"{ROLE}:{self.place.password if password is None else password}"
        if over_socket:
            query = urlencode({"host": str(self.place.folder), "port": self.port})
            return f"postgresql://{who}@/{database}?{query}"
        return f"postgresql://{who}@{LOOPBACK}:{self.port}/{database}"

    def new_database(self, template: str = "") -> str:
        """The URL of a new database, which is empty or a copy of an unused one at a URL.

        The role of the service owns it.
        """
        name = f"{self._name}_{next(self._numbers)}"
        self._create(name, name_of(template) if template else "template0")
        return self.url(name)

    def _create(self, name: str, source: str) -> None:
        # this strategy logs only that the files were copied, which takes half the time
        by = "STRATEGY file_copy" if self.programs.version >= 15 else ""
        self.administer(f'CREATE DATABASE "{name}" OWNER {ROLE} TEMPLATE "{source}" {by}')

    def once(self, name: str, fill: Callable[[str], None]) -> str:
        """The URL of a database that the first call of any process fills."""
        filled = self.place.folder / name
        with held_alone(self.place.folder / f"{name}.lock"):
            if not filled.exists():
                self._create(name, "template0")
                fill(self.url(name))
                filled.touch()
        return self.url(name)

    def drop(self, url: str) -> None:
        """Drop a database, and end its connections."""
        self.administer(f'DROP DATABASE IF EXISTS "{name_of(url)}" WITH (FORCE)')

    def administer(self, *statements: str, database: str = ADMINISTRATOR) -> None:
        """Run statements as the administrator, each in a transaction of its own."""

        async def run(connection: asyncpg.Connection) -> None:
            for statement in statements:
                await connection.execute(statement)

        self._connected(run, database)

    def asked(self, query: str, database: str = ADMINISTRATOR) -> list[tuple[object, ...]]:
        """The rows of a query that the administrator runs."""
        rows = self._connected(lambda connection: connection.fetch(query), database)
        return [tuple(row) for row in rows]

    async def administrator(self, database: str = ADMINISTRATOR) -> asyncpg.Connection:
        """A connection of the administrator, over the Unix socket."""
        return await asyncpg.connect(
            host=str(self.place.folder), port=self.port, user=ADMINISTRATOR, database=database
        )

    def _connected(self, work: Callable[[asyncpg.Connection], Awaitable[T]], database: str) -> T:
        async def run() -> T:
            connection = await self.administrator(database)
            try:
                return await work(connection)
            finally:
                await connection.close()

        return asyncio.run(run())


class SharedDatabases(Databases):
    """The databases of a server that does not stop, where the administrator stays connected.

    A connection costs the server as much as a new database.
    """

    def __init__(self, place: Place, programs: Programs) -> None:
        super().__init__(place, programs)
        self._runner = asyncio.Runner()
        self._connection = self._runner.run(self.administrator())

    @override
    def administer(self, *statements: str, database: str = ADMINISTRATOR) -> None:
        if database != ADMINISTRATOR:
            super().administer(*statements, database=database)
            return
        for statement in statements:
            self._runner.run(self._connection.execute(statement))

    def close(self) -> None:
        """Close the connection."""
        self._runner.run(self._connection.close())
        self._runner.close()


def name_of(url: str) -> str:
    """The name of the database at a URL."""
    return urlsplit(url).path.removeprefix("/")


def _secret(password: str) -> str:
    """What a server stores of a password, hashed once: 4,096 times take most of a connect."""
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    client, server = (
        hmac.digest(salted, each, "sha256") for each in (b"Client Key", b"Server Key")
    )
    stored = hashlib.sha256(client).digest()
    first, second, third = (b64encode(each).decode() for each in (salt, stored, server))
    return f"SCRAM-SHA-256$1:{first}${second}:{third}"


class Postgres(Databases):
    """A server for one test, which can be stopped, killed and started again.

    Unless it is `durable`, it does not wait for the disk: it survives a kill, but not a power
    failure. Its temporary folder may be `within` another that the programs' user can enter.
    """

    def __init__(
        self,
        settings: Mapping[str, Setting] | None = None,
        *,
        durable: bool = False,
        within: Path | None = None,
    ) -> None:
        found = postgres_programs()
        folder = Path(tempfile.mkdtemp(prefix="comptoir-pg-", dir=within or _place(found, durable)))
        found.own(folder)
        super().__init__(Place(folder, 0, uuid4().hex), found.reachable(folder))
        self._process: subprocess.Popen[bytes] | None = None
        self.place.users.touch()
        self._users = held_with_others(self.place.users)
        self._post_guard(Path(__file__).with_name("postgres_guard.py"))
        self._initialize({**PLAIN, **({} if durable else QUICK), **(settings or {})})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start again on the same port and folder; returns when connections are accepted."""
        with self.log.open("ab") as log:
            # the processes of the server inherit its output, which ends when all of them have ended
            self._process = self.programs.start(
                "postgres", "-D", self.data, stdout=subprocess.PIPE, stderr=log
            )
        until(self._is_ready, "a PostgreSQL that takes connections")

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop, as `pg_ctl stop` does; returns when all processes of the server have ended."""
        self._running.send_signal(STOP_SIGNALS[mode])
        self._wait_until_gone()

    def kill(self) -> None:
        """Kill all processes of the server."""
        for each in self._stopped():
            os.kill(each, signal.SIGKILL)
        self._wait_until_gone()

    @contextmanager
    def hung(self) -> Iterator[None]:
        """Suspend all processes of the server: it accepts connections without a response."""
        stopped = self._stopped()
        for each in stopped:
            os.kill(each, signal.SIGSTOP)
        try:
            yield
        finally:
            for each in stopped:
                os.kill(each, signal.SIGCONT)

    def _stopped(self) -> Sequence[int]:
        """The processes of the server; the first one is stopped, so it starts no others."""
        os.kill(self.pid, signal.SIGSTOP)
        return (self.pid, *children_of(self.pid))

    def restart(self, mode: StopMode = "fast") -> None:
        self.stop(mode)
        self.start()

    def reload(self) -> None:
        """Let the server read its settings and `pg_hba.conf` again."""
        self._running.send_signal(signal.SIGHUP)

    def configure(self, settings: Mapping[str, Setting]) -> None:
        """Change settings, which take effect at the next start or `reload`."""
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{_value(value)}'\n" for name, value in settings.items())

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int:
        """The process that started all others of the server."""
        return self._running.pid

    def close(self) -> None:
        """Stop as soon as no other process uses the server, and remove the folder."""
        fcntl.flock(self._users, fcntl.LOCK_EX)
        if self._process is not None:
            self.stop("immediate")
        shutil.rmtree(self.place.folder)
        self._users.close()

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def _is_ready(self) -> Literal[True] | None:
        if self._running.poll() is not None:
            self._wait_until_gone()
            raise AssertionError(self.log.read_text())
        with suppress(FileNotFoundError):
            # after a kill, the file of the previous process still exists
            lines = (self.data / "postmaster.pid").read_text().split()
            if lines[:1] == [str(self.pid)] and lines[-1] in ("ready", "standby"):
                return True
        return None

    def _initialize(self, settings: Mapping[str, Setting]) -> None:
        options = ["--encoding=UTF8", "--locale=C", f"--username={ADMINISTRATOR}", "--no-sync"]
        if self.programs.knows_icu:
            # this order differs from that of code points, so a result that the database sorts is
            # detected
            options += ["--locale-provider=icu", "--icu-locale=en-US"]
        self.programs.run("initdb", *options, "--auth=reject", "-D", self.data)
        (self.data / "pg_hba.conf").write_text(ACCESS)
        self._begin(settings)
        self.administer(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{_secret(self.place.password)}'")

    def _begin(self, settings: Mapping[str, Setting]) -> None:
        """Start for the first time, on a port that is free."""
        self.configure({"unix_socket_directories": str(self.place.folder), **settings})
        for tries_left in reversed(range(20)):
            self.place = Place(self.place.folder, free_port(), self.place.password)
            self.configure({"port": self.port})
            try:
                return self.start()
            except AssertionError:
                if not tries_left or "could not bind" not in self.log.read_text():
                    raise

    def _wait_until_gone(self) -> None:
        with self._running as process:
            assert process.stdout is not None
            process.stdout.read()
        self._process = None

    def _post_guard(self, program: Path) -> None:
        account = self.programs.account
        user = ("-1", "-1") if account is None else (str(account.uid), str(account.gid))
        stop = (self.programs.path("pg_ctl"), "stop", "-m", "immediate", "-D", self.data)
        subprocess.run(
            [sys.executable, "-I", program, self.place.users, self.place.folder, *user, *stop],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )


@contextmanager
def shared_postgres(run: Path) -> Iterator[Databases]:
    """The server of a test run; its processes find it in the folder.

    The first process that needs the server starts it, and stops it when all others have ended. If
    that process is killed, the guard stops the server.
    """
    known = run / "postgres.txt"
    with held_alone(run / "postgres.lock"):
        joined = _joined(known)
        if joined is None:
            server = Postgres()
            known.write_text(server.place.written())
    place, used = (server.place, server) if joined is None else joined
    programs = postgres_programs().reachable(place.folder)
    with used, closing(SharedDatabases(place, programs)) as databases:
        yield databases


def _joined(known: Path) -> tuple[Place, IO[str]] | None:
    try:
        place = Place.of(known.read_text())
        # waits for a guard that is about to stop the server
        users = held_with_others(place.users)
    except FileNotFoundError:
        return None
    if place.data.exists():
        return place, users
    users.close()
    return None


def _place(programs: Programs, durable: bool) -> Path:
    """The folder for a server: in memory, if that has room."""
    has_room = MEMORY.exists() and shutil.disk_usage(MEMORY).free > ROOM_BYTES
    in_memory = has_room and not durable and programs.can_enter(MEMORY)
    return MEMORY if in_memory else open_folder(programs)


def open_folder(programs: Programs) -> Path:
    """A temporary folder that the programs' user can enter."""
    folder = Path(tempfile.gettempdir()).resolve()
    return folder if programs.can_enter(folder) else Path("/tmp")


def children_of(pid: int) -> Iterator[int]:
    """The children of a process, on systems that list them.

    On other systems, they end by themselves when they notice its end.
    """
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            _, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid:
                yield int(stat.parent.name)


def _value(setting: Setting) -> str:
    if isinstance(setting, bool):
        return "on" if setting else "off"
    return str(setting).replace("'", "''")
