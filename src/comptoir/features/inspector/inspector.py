"""The inspector of a process: captures exchanges, and keeps their records when they have ended."""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from enum import StrEnum
from pathlib import Path

import msgspec
from starlette.types import Scope
from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.edm.times import Clock
from comptoir.features.console.running import serves_console
from comptoir.features.inspector import InspectorSettings
from comptoir.features.inspector import errors as problems
from comptoir.features.inspector.record import Capture, ExchangeRecord, Head, Scribe
from comptoir.features.inspector.segments import (
    FOLDER,
    SegmentReader,
    SegmentWriter,
    private_folder,
)
from comptoir.http.exchange import Exchange, Observe
from comptoir.http.feature import Feature, Kernel
from comptoir.http.redaction import Redactor
from comptoir.store.jobs import Job, every

LOOK_SECONDS = 0.2
"""Seconds between two looks for records to write, and for a switch by another process."""

SLICE_SECONDS = 0.002
"""Seconds for which a look writes records, which bounds their cost."""

_SWITCH = "switch.json"
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})


class Level(StrEnum):
    """The parts of exchanges that are kept."""

    OFF = "off"
    HEADS = "heads"
    BODIES = "bodies"


class Switch(msgspec.Struct, frozen=True):
    """The parts that are kept, until a time in epoch seconds; None until the service stops."""

    level: Level
    until: float | None = None


class Inspector:
    """Keeps the last exchanges of a service; one for each of its processes.

    What is switched in one process, others notice within `LOOK_SECONDS`, because they share a
    folder. It is among the `observers` of exchanges only while it keeps them.
    """

    def __init__(
        self,
        settings: Settings,
        redactor: Redactor,
        folder: Path,
        observers: list[Observe],
        clock: Clock = time.time,
    ) -> None:
        self._clock = clock
        self._switch_file = folder / _SWITCH
        own = settings.of(InspectorSettings)
        chosen = own.inspect
        if chosen == "auto":
            chosen = "bodies" if settings.is_quickstart else "off"
        self._first = Switch(Level(chosen))
        self._body_bytes = own.inspect_body_bytes
        self._most_bytes = own.inspect_bytes // settings.workers // 2
        self._scribe = Scribe(redactor)
        self.writer = SegmentWriter(folder, own.inspect_requests, self._most_bytes)
        self._reader = SegmentReader(folder)
        self._ended: deque[tuple[Capture, int]] = deque()
        self._ended_bytes = 0
        self.requests = own.inspect_requests
        """The number of its last exchanges that each process keeps."""
        self.skipped = 0
        """The number of exchanges that were not captured because they came too fast."""
        self._observers = observers
        self._use(self.switch.level)

    @property
    def switch(self) -> Switch:
        """The parts that are kept now, and until when."""
        with suppress(FileNotFoundError):
            switch = msgspec.json.decode(self._switch_file.read_bytes(), type=Switch)
            if switch.until is None or switch.until > self._clock():
                return switch
        return self._first

    def set(self, level: Level, seconds: float | None) -> None:
        """Keep more or less, for some seconds or until the stop, in all processes."""
        until = None if seconds is None else self._clock() + seconds
        new = self._switch_file.with_suffix(f".{os.getpid()}")
        new.write_bytes(msgspec.json.encode(Switch(level, until)))
        new.rename(self._switch_file)
        self._use(level)

    def _use(self, level: Level) -> None:
        self._level = level
        if self.observe in self._observers:
            self._observers.remove(self.observe)
        if level is not Level.OFF:
            # before others change the response
            self._observers.insert(0, self.observe)

    def observe(self, exchange: Exchange, scope: Scope) -> Capture | None:
        """Capture an exchange that begins, unless it is a probe, or too many wait already."""
        if scope["path"] in _PROBES:
            return None
        if len(self._ended) >= self.requests or self._ended_bytes > self._most_bytes:
            self.skipped += 1
            return None
        limit = self._body_bytes if self._level is Level.BODIES else 0
        return Capture(exchange, scope["raw_path"], scope["headers"], limit, self._keep)

    def _keep(self, capture: Capture) -> None:
        """Keep an exchange that has ended, of which a record is written soon."""
        size = capture.size
        self._ended.append((capture, size))
        self._ended_bytes += size

    async def newest(self, most: int, wanted: Callable[[Head], bool]) -> Sequence[Head]:
        """The newest exchanges of all processes that are wanted, the latest one first."""
        await self._write_all()
        return await asyncio.to_thread(self._reader.newest, most, wanted)

    async def find(self, exchange_id: str) -> ExchangeRecord | None:
        """The record of an exchange of any process; None if it is not kept any more."""
        await self._write_all()
        return await asyncio.to_thread(self._reader.find, exchange_id)

    async def _write_all(self) -> None:
        """Write the records of what has ended, so that this process sees it."""
        waiting = len(self._ended)
        while waiting > 0 and self._ended:
            before = len(self._ended)
            self._write()
            waiting -= before - len(self._ended)
            await asyncio.sleep(0)

    def _write(self) -> None:
        """Write records for a time, before requests have their turn."""
        began = time.perf_counter()
        while self._ended and time.perf_counter() - began < SLICE_SECONDS:
            capture, size = self._ended.popleft()
            self._ended_bytes -= size
            # requests must not fail because a record cannot be written
            with suppress(OSError):
                self.writer.append(self._scribe.record(capture))

    async def look(self) -> None:
        """Notice what another process has switched, and write some records."""
        self._use(self.switch.level)
        self._write()


class Inspecting(Feature):
    """Keeps the last exchanges of a service that has a console, which shows them."""

    inspector: Inspector
    screen = "comptoir.features.inspector.screen:SCREEN"

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings = settings
        self._model = model
        self._has_screen = serves_console(settings)

    @override
    def check_start(self, config: str | None) -> None:
        """Raise `OperatorError` for `inspect` without a console."""
        inspect = self._settings.of(InspectorSettings).inspect
        if not self._has_screen and inspect in ("heads", "bodies"):
            raise problems.INSPECT_WITHOUT_CONSOLE(inspect=inspect)

    @override
    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        with ExitStack() as closing:
            if self._has_screen:
                shared = os.environ.get(FOLDER)
                folder = Path(shared) if shared else closing.enter_context(private_folder())
                redactor = Redactor.of(self._model)
                self.inspector = Inspector(self._settings, redactor, folder, kernel.observers)
                closing.callback(self.inspector.writer.close)
            yield

    @override
    @contextmanager
    def serving(self) -> Iterator[None]:
        """Let all workers share a folder."""
        with ExitStack() as closing:
            if self._has_screen:
                os.environ[FOLDER] = str(closing.enter_context(private_folder()))
            yield

    @override
    def jobs(self) -> Iterable[Job]:
        return [every(LOOK_SECONDS, self.inspector.look)] if self._has_screen else []
