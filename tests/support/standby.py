"""A standby of a PostgreSQL server, by streaming replication over loopback."""

from collections.abc import Mapping
from dataclasses import replace

from typing_extensions import override

from support.postgres import ADMINISTRATOR, Databases, Postgres, Setting
from support.waiting import until


class Standby(Postgres):
    """A read-only copy of a server's databases.

    Its replay can be paused, so that it lags as long as a test needs.
    """

    def __init__(self, primary: Databases) -> None:
        self._primary = primary
        super().__init__()

    @override
    def _initialize(self, settings: Mapping[str, Setting]) -> None:
        primary = self._primary.place
        self.programs.run(
            "pg_basebackup",
            *("-h", primary.folder, "-p", str(primary.port), "-U", ADMINISTRATOR),
            *("--write-recovery-conf", "--checkpoint=fast", "--no-sync", "-D", self.data),
        )
        # its roles are those of the primary, with their passwords
        self.place = replace(self.place, password=primary.password)
        self._begin(settings)

    def url_of(self, url: str) -> str:
        """The URL of the standby's copy of a database of the primary."""
        return self.url(url.rpartition("/")[2])

    def pause(self) -> None:
        """Stop replaying."""
        self.administer("SELECT pg_wal_replay_pause()")
        paused = [("paused",)]
        query = "SELECT pg_get_wal_replay_pause_state()"
        until(lambda: self.asked(query) == paused or None, "a standby whose replay is paused")

    def resume(self) -> None:
        """Resume replaying, and return when the standby has caught up."""
        self.administer("SELECT pg_wal_replay_resume()")
        self.catch_up()

    def catch_up(self) -> None:
        """Return when the standby has caught up."""
        # a commit sends everything before it that the primary has not sent yet
        self._primary.administer("SELECT pg_logical_emit_message(true, 'standby', '')")
        ((end,),) = self._primary.asked("SELECT pg_current_wal_flush_lsn()::TEXT")
        query = f"SELECT pg_last_wal_replay_lsn() >= '{end}'::PG_LSN"
        until(lambda: self.asked(query) == [(True,)] or None, "a standby that has caught up")

    def promote(self) -> None:
        """Promote it to a primary."""
        self.administer("SELECT pg_promote()")
