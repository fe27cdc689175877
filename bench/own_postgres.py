"""The benchmark's own PostgreSQL server: durable, in the build folder, on both cores.

Neither the server nor pgbench is pinned to a core, because the service and its load use the whole
machine too.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from processes import Cores, SetupError, being_on, cpu_seconds_of, cpu_seconds_of_ended

from support.postgres import Postgres, Setting, children_of
from support.postgres_programs import found_programs

_SETTINGS: Mapping[str, Setting] = {
    "fsync": True,
    "synchronous_commit": True,
    "full_page_writes": True,
    "shared_buffers": "256MB",
    # checkpoints only by time, so that none runs in one round but not in another
    "max_wal_size": "8GB",
}
_DESCRIBED = ("server_version", "wal_sync_method", "autovacuum", *_SETTINGS)


class OwnPostgres(Postgres):
    """The server, and its cost."""

    def __init__(self, build: Path) -> None:
        super().__init__(_SETTINGS, durable=True, within=build)

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all its processes since it started, user and system."""
        total = cpu_seconds_of(self.pid) + cpu_seconds_of_ended(self.pid)
        for child in children_of(self.pid):
            with suppress(ProcessLookupError):
                total += cpu_seconds_of(child)
        return total

    @property
    def children(self) -> int:
        """The number of its child processes: one for each connection, and those of its own."""
        return len(list(children_of(self.pid)))

    def wait_for_children(self, count: int) -> None:
        """Wait, for a second at most, until no more than some child processes are left.

        The CPU time of a child that ends is counted once it has ended.
        """
        until = monotonic() + 1
        while self.children > count and monotonic() < until:
            sleep(0.01)

    @property
    def description(self) -> str:
        """Its version and settings, in one line."""
        names = ", ".join(f"'{name}'" for name in _DESCRIBED)
        asked = f"SELECT name, current_setting(name) FROM unnest(ARRAY[{names}]) AS name"
        version, *settings = (f"{name} {value}" for name, value in self.asked(asked))
        return f"PostgreSQL on both cores, as pgbench: {version}, {', '.join(settings)}"


@contextmanager
def own_postgres(build: Path, cores: Cores) -> Iterator[OwnPostgres]:
    """Start a server until the block ends; raises `SetupError` if this machine cannot."""
    programs = found_programs()
    if programs is None or not programs.has("pgbench"):
        raise SetupError("postgres or pgbench is missing. Install them: apt-get install postgresql")
    if not programs.can_enter(build):
        raise SetupError(
            f"the user that postgres runs as, since root may not, cannot enter {build}."
        )
    with being_on(cores.both):
        server = OwnPostgres(build)
    with server:
        yield server
