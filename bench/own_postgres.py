"""The benchmark's own PostgreSQL server: durable, in the build folder, on both cores.

Neither the server nor pgbench is pinned to a core, because the service and its load use the whole
machine too.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from processes import Cores, SetupFault, being_on, cpu_seconds_of

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
_TOLD = ("server_version", "wal_sync_method", "autovacuum", *_SETTINGS)


class OwnPostgres(Postgres):
    """The server, and its cost."""

    def __init__(self, build: Path) -> None:
        super().__init__(_SETTINGS, durable=True, within=build)

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all its processes since it started, user and system."""
        total = cpu_seconds_of(self.pid, with_ended=True)
        for child in children_of(self.pid):
            with suppress(FileNotFoundError, ProcessLookupError):
                total += cpu_seconds_of(child)
        return total

    @property
    def told(self) -> str:
        """Its version and settings, in one line."""
        names = ", ".join(f"'{name}'" for name in _TOLD)
        asked = f"SELECT name, current_setting(name) FROM unnest(ARRAY[{names}]) AS name"
        version, *settings = (f"{name} {value}" for name, value in self.asked(asked))
        return f"PostgreSQL on both cores, as pgbench: {version}, {', '.join(settings)}"


@contextmanager
def own_postgres(build: Path, cores: Cores) -> Iterator[OwnPostgres]:
    """Start a server until the block ends; raises `SetupFault` if this machine cannot."""
    programs = found_programs()
    if programs is None or not programs.has("pgbench"):
        raise SetupFault("postgres or pgbench is missing. Install them: apt-get install postgresql")
    if not programs.can_enter(build):
        raise SetupFault(
            f"the user that postgres runs as, since root may not, cannot enter {build}."
        )
    with being_on(cores.both):
        server = OwnPostgres(build)
    with server:
        yield server
