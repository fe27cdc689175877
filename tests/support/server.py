"""A service as a process, which can be stopped and killed."""

import asyncio
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import httpx
from msgspec.structs import replace

from comptoir.auth.local_authority import local_certificate
from comptoir.catalog import MODEL
from comptoir.config import SETTINGS, Settings, environment_name
from comptoir.edm.model import Model
from support.certificates import trusting
from support.client import Client
from support.companies import Company, CompanyAdmin
from support.processes import Process
from support.settings import changed
from support.sockets import http_client
from support.tokens import Tokens
from support.waiting import PATIENCE_SECONDS, until

STOP_OVERRUN = "timeout graceful shutdown exceeded"
"""Logged if a stop cancels requests that did not end within `stop_seconds`."""


class Server:
    """`comptoir serve` over one database; a `Carrier`.

    On port 0 each start uses a free port. The file `log` is its log. After a kill, another start
    serves the same database. `wrapper` is a command that starts the service, and `first` is Python
    code that runs in its process before.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        workers: int = 1,
        wrapper: Sequence[str] = (),
        port: int = 0,
        model: Model = MODEL,
        first: str = "",
    ) -> None:
        self._command = ("serve", "--port", str(port))
        self.settings = replace(settings, workers=workers)
        self.tokens = Tokens(settings)
        self.log = folder / "server.log"
        self._wrapper, self._first = wrapper, first
        self._runner = asyncio.Runner()
        self._trust = trust_of(settings)
        # a thread may close the connection that another one has just taken from the same client
        self._clients = deque[httpx.Client]()
        self._started: Process | subprocess.Popen[bytes] | None = None
        self.base_url = ""
        self.start()
        self.admin = CompanyAdmin(settings, self._runner, model)

    @classmethod
    def over(
        cls,
        fresh: Callable[[Path, Model], str],
        folder: Path,
        workers: int = 1,
        wrapper: Sequence[str] = (),
        *,
        https: bool = False,
        first: str = "",
        **given: float | str,
    ) -> Self:
        """A server over a fresh database, whose keys are in the folder, with further settings."""
        plain = Settings(database=fresh(folder, MODEL), keys=str(folder / "keys"))
        settings = changed(plain, **given)
        chosen = with_tls(settings, folder / "tls") if https else settings
        return cls(chosen, folder, workers, wrapper, first=first)

    def start(self) -> None:
        """Start, and return when the address is known."""
        given = {environment_name(name): str(self.settings.value(name)) for name in SETTINGS}
        environment = {**os.environ, **given}
        with self.log.open("ab") as log:
            if self._wrapper:
                self._started = subprocess.Popen(
                    [*self._wrapper, sys.executable, "-m", "comptoir", *self._command],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
            else:
                self._started = Process(
                    self._command, environment, Path(), errors=log, alone=True, first=self._first
                )
        assert self._process.stdout is not None
        word, _, self.base_url = self._process.stdout.readline().decode().strip().partition(" ")
        assert word == "Serving", self.log.read_text()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.admin.close()
        self._runner.close()
        while self._clients:
            self._clients.pop().close()
        self.kill()

    @property
    def _process(self) -> Process | subprocess.Popen[bytes]:
        assert self._started is not None
        return self._started

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.base_url)
        return parts.hostname or "", parts.port or 0

    @property
    def client(self) -> Client:
        """A client at the base URL whose token may read and write in every company."""
        return Client(self, self.base_url, self.tokens.issue())

    @property
    def origin(self) -> Client:
        """A client without a token at the root of the server, above the base path."""
        return Client(self, self.base_url.removesuffix(self.settings.base_path), "")

    def new_company(self) -> Company:
        return self.admin.add_company(self.client)

    def again(self, company: Company) -> Company:
        """The company at the address of the server's last start."""
        root = f"{self.client.root}/companies({company.id})"
        return Company(self, root, company.token, company.stored, company.admin)

    def ask_to_stop(self) -> None:
        """Send SIGTERM, as service managers do."""
        self._process.send_signal(signal.SIGTERM)

    def wait_for_log(self, text: str, times: int = 1) -> None:
        """Return once the log contains a text, or contains it several times."""
        until(lambda: self.log.read_text().count(text) >= times or None, f"{text!r} in the log")

    def wait(self) -> int:
        """The exit status of the process, after it has ended by itself."""
        status = self._process.wait(PATIENCE_SECONDS)
        self._close_pipe()
        return status

    def wait_until_closed(self) -> None:
        """Return when nobody listens at the address."""

        def look() -> bool | None:
            try:
                self.connect().close()
            except ConnectionRefusedError:
                return True
            except ConnectionResetError:
                pass
            return None

        until(look, "an end of listening")

    def kill(self) -> None:
        """Kill the process and its workers, as a power failure would."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._close_pipe()

    def kill_parent(self) -> None:
        """Kill the started process, but not its workers."""
        self._process.kill()
        self._process.wait()

    def _close_pipe(self) -> None:
        if self._process.stdout is not None:
            self._process.stdout.close()

    def connect(self, receive_buffer: int | None = None) -> socket.socket:
        """A connection, with TLS if the service has a certificate; the buffer is in bytes."""
        connection = socket.socket()
        connection.settimeout(PATIENCE_SECONDS)
        if receive_buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            connection.connect(self.address)
        except OSError:
            connection.close()
            raise
        if self._trust is None:
            return connection
        # the end of the connection without an end of TLS is an error
        return self._trust.wrap_socket(
            connection, server_hostname=self.address[0], suppress_ragged_eofs=False
        )

    def send(self, request: httpx.Request) -> httpx.Response:
        try:
            client = self._clients.pop()
        except IndexError:
            client = http_client(trust=self._trust)
        try:
            return client.send(request)
        finally:
            self._clients.append(client)

    def send_all(self, requests: Sequence[httpx.Request]) -> list[httpx.Response]:
        with ThreadPoolExecutor(len(requests)) as threads:
            return list(threads.map(self.send, requests))


ShareServer = Callable[..., Server]
"""Starts a server; the arguments are those of `Server.over` after the folder."""


def with_tls(settings: Settings, folder: Path) -> Settings:
    """Settings with a certificate for localhost, whose files are in `folder`."""
    pair = local_certificate(folder).localhost
    return replace(settings, tls_certificate=str(pair.certificate), tls_key=str(pair.key))


def trust_of(settings: Settings) -> ssl.SSLContext | None:
    """A context that trusts the certificate of `with_tls`; None without one."""
    if not settings.tls_certificate:
        return None
    return trusting(Path(settings.tls_certificate).with_name("authority.pem"))
