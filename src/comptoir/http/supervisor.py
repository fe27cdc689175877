"""Several processes that serve: starts them, replaces those that have failed, and stops all."""

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.context import ForkProcess, SpawnProcess

from starlette.types import ASGIApp
from uvicorn import Server
from uvicorn.config import STARTUP_FAILURE

from comptoir.config import Settings
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import OperatorError
from comptoir.http.link import Channel, Counted, SupervisorLink, decode, encode, include, lasting
from comptoir.http.log import set_up_logging
from comptoir.http.protocol import ServerConfig
from comptoir.store.jobs import cancel_and_wait

_BACKLOG = 2_048
_STOPS = signal.SIGINT, signal.SIGTERM

# a copy of this process starts at once and shares its memory; libraries of macOS do not work in one
WORKER_PROCESS = ForkProcess if sys.platform == "linux" else SpawnProcess


def bind(host: str, port: int, prefix: str = "") -> socket.socket:
    """Listen on an address; raises `OperatorError` if that is not possible.

    The names of its settings, `host` and `port`, begin with a prefix.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise problems.PORT_IN_USE(port=port, host=host, prefix=prefix) from None
        raise problems.CANNOT_LISTEN(
            host=host, port=port, reason=error.strerror, prefix=prefix
        ) from None
    return listener


def bind_all(settings: Settings) -> Iterator[socket.socket]:
    """Listen on the address of the API, then on that of the operator; raises like `bind`."""
    yield bind(settings.host, settings.port)
    if settings.admin_port:
        yield bind(settings.admin_host, settings.admin_port, "admin_")


def run(app: ASGIApp, settings: Settings, listeners: Sequence[socket.socket]) -> None:
    """Serve until a signal asks to stop; then finish the accepted requests, and return."""
    # uvicorn raises the signal that stopped it again after its last response
    with suppress(KeyboardInterrupt):
        Server(ServerConfig(app, settings)).run(list(listeners))


Build = Callable[[SupervisorLink], ASGIApp]
"""Makes the application of a worker, which imports it; raises `OperatorError` if it cannot."""

TICK_SECONDS = 1.0
"""Seconds between two looks at all workers."""

MOST_SILENT = 8
"""The looks after which a worker that has not reported hangs.

Looks are counted instead of seconds: a supervisor that did not run could not receive a report.
"""

MOST_FAILURES = 5
"""The failures of workers, within a minute in which all served, that end the service."""

_WINDOW = 60
"""The looks at workers that all serve after which a failure no longer counts."""

_log = logging.getLogger(__name__)


def _work(
    build: Build,
    settings: Settings,
    listeners: Sequence[socket.socket],
    end: socket.socket,
    ends: Sequence[socket.socket],
) -> None:
    """Serve in this process, which may have the supervisor's signal handlers and ends."""
    signal.set_wakeup_fd(-1)
    # an interrupt at a terminal reaches every process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    for each in ends:
        each.close()
    set_up_logging(settings.log_level)
    link = SupervisorLink(end)
    try:
        app = build(link)
    except OperatorError as error:
        sys.exit(f"comptoir: {error}")
    run(app, settings, listeners)


class _Worker:
    """A process that serves; raises `OSError` if it cannot be started."""

    def __init__(
        self,
        build: Build,
        settings: Settings,
        listeners: Sequence[socket.socket],
        others: Iterable["_Worker"],
    ) -> None:
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        ends = [ours, *(each.channel.end for each in others)]
        self._process = WORKER_PROCESS(
            target=_work, args=(build, settings, listeners, theirs, ends)
        )
        self.silent: int | None = None
        """The looks since its last report; None before the first."""
        self.counted: Counted = {}
        """The counts that it has reported."""
        try:
            # a copy must not pass a signal on to this process
            signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
            with theirs:
                self._process.start()
        except OSError:
            ours.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)

    async def ended(self, total: bytes) -> int:
        """Receive its reports until it has ended; returns its exit status, or minus its signal.

        It gets the total of all workers before it serves, so its counters do not begin at zero.
        """
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_reader(self._process.sentinel, ended.set)
        await self.channel.open()
        self.channel.send(total)
        async for frame in self.channel.frames():
            self.silent, self.counted = 0, decode(frame)
        await ended.wait()
        loop.remove_reader(self._process.sentinel)
        self._process.join()
        return self._process.exitcode or 0

    def signal(self, number: int) -> None:
        """Send a signal to the process, unless it has ended."""
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, number)

    @property
    def hangs(self) -> bool:
        """Whether its event loop does not run any more."""
        return self.silent is not None and self.silent > MOST_SILENT


class Supervisor:
    """Keeps as many workers as the settings say, until a signal asks to stop.

    They then finish their requests.
    """

    def __init__(
        self, build: Build, settings: Settings, listeners: Sequence[socket.socket]
    ) -> None:
        self._count = settings.workers
        self._workers: set[_Worker] = set()
        self._started = partial(_Worker, build, settings, listeners, self._workers)
        self._ended: Counted = {}
        """The counts of workers that have ended."""
        self._total = b""
        """The counts of all workers, encoded; nothing before the first report."""
        self._stopping = asyncio.Event()
        self._served = 0
        """The looks at which all workers served."""
        self._failures: list[int] = []
        """`_served` at each failure that counts."""
        self._cause: str | None = None

    async def run(self) -> None:
        """Serve; raises `OperatorError` if workers fail again and again."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        looking = asyncio.create_task(self._look())
        places = []
        for _ in range(self._count):
            places.append(asyncio.create_task(self._keep()))
            # a signal also stops what is still starting
            await asyncio.sleep(0)
        await asyncio.gather(*places)
        await cancel_and_wait(looking)
        if self._cause is not None:
            raise problems.SERVICE_STOPPED(cause=self._cause)

    def _stop(self) -> None:
        # as uvicorn, a worker that stops does not wait any longer after an interrupt
        number = signal.SIGINT if self._stopping.is_set() else signal.SIGTERM
        self._stopping.set()
        for worker in self._workers:
            # nothing else ends one that was suspended while it started
            worker.silent = worker.silent or 0
            worker.signal(number)

    async def _keep(self) -> None:
        """Keep one worker."""
        while not self._stopping.is_set():
            try:
                worker = self._started()
            except OSError as error:
                await self._recover(f"a worker cannot be started: {error.strerror}")
                continue
            self._workers.add(worker)
            status = await worker.ended(self._total)
            self._workers.remove(worker)
            include(self._ended, lasting(worker.counted))
            if not self._stopping.is_set():
                if status == STARTUP_FAILURE and not self._served:
                    # the others cannot start either
                    self._give_up("a worker cannot start")
                else:
                    await self._recover(_cause(worker, status))

    async def _recover(self, cause: str) -> None:
        """Wait before the next start, longer each time; give up after many failures."""
        recent = [each for each in self._failures if self._served - each < _WINDOW]
        self._failures = [*recent, self._served]
        if len(self._failures) >= MOST_FAILURES:
            self._give_up(f"workers failed {MOST_FAILURES} times within a minute, at last: {cause}")
            return
        seconds = 2 ** len(recent) - 1
        _log.warning("%s; another one replaces it in %d s", cause, seconds)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    def _give_up(self, cause: str) -> None:
        self._cause = cause
        self._stop()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            serving = [each for each in self._workers if each.silent is not None]
            self._served += len(serving) == self._count
            total: Counted = {}
            include(total, self._ended)
            for worker in serving:
                include(total, worker.counted)
                worker.silent = (worker.silent or 0) + 1
                if worker.hangs:
                    worker.signal(signal.SIGKILL)
            self._total = encode(total)
            for worker in serving:
                worker.channel.send(self._total)


def _cause(worker: _Worker, status: int) -> str:
    if worker.hangs:
        return f"a worker has not responded for {MOST_SILENT} s and was killed"
    if status < 0:
        return f"a worker has ended by {signal.Signals(-status).name}"
    return f"a worker has ended with status {status}"
