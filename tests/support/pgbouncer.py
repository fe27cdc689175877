"""PgBouncer in front of a server of the tests' own, on a free port of loopback."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from support.ports import LOOPBACK, free_port
from support.postgres import ROLE, Databases, open_folder
from support.programs import needed
from support.waiting import until


@contextmanager
def pooled(server: Databases, url: str, mode: str = "transaction") -> Iterator[str]:
    """The URL of a database through PgBouncer, which has two connections for all clients."""
    program = needed("pgbouncer", "pgbouncer")
    with tempfile.TemporaryDirectory(dir=open_folder(server.programs)) as made:
        folder, port = Path(made), free_port()
        users = folder / "users.txt"
        users.write_text(f'"{ROLE}" "{server.place.password}"\n')
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host={LOOPBACK} port={server.port}\n[pgbouncer]\n"
            f"listen_addr = {LOOPBACK}\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = scram-sha-256\nauth_file = {users}\npool_mode = {mode}\n"
            f"default_pool_size = 2\nlogfile = {folder / 'log'}\n"
        )
        for path in (folder, users, settings):
            server.programs.own(path)
        account = server.programs.account
        process = subprocess.Popen(
            [program, settings],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=None if account is None else account.uid,
            group=None if account is None else account.gid,
        )
        try:
            log = folder / "log"
            until(
                lambda: (log.exists() and "process up" in log.read_text()) or None,
                "a PgBouncer that listens",
            )
            parts = urlsplit(url)
            place = f"{parts.netloc.rpartition('@')[0]}@{LOOPBACK}:{port}"
            yield urlunsplit(parts._replace(netloc=place))
        finally:
            process.terminate()
            process.wait()
