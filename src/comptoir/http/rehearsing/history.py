"""The history of a rehearsal: what clients have sent, and the traps that they have met.

It is a list of notes in one order. Several processes share it as a file to which each of them adds
its notes, and which all of them read.
"""

import fcntl
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from typing_extensions import override

from comptoir.rehearsal import Address, Line, Tally, Trap

MOST_REQUESTS = 1_000
"""The most requests that are kept; the oldest is forgotten."""

MOST_FILE_BYTES = 16 << 20
"""Bytes after which another file begins; the file before the last one is deleted."""

_NAME = "history-"


class Sent(msgspec.Struct, rename="camel"):
    """A request as a client has sent it; `body` is null unless it is JSON.

    Neither tokens nor secret properties are in it. `fault` names the rules that have acted on it.
    """

    at: str
    request: str
    client: str
    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = {}
    body: msgspec.Raw = msgspec.Raw(b"null")
    status: int = 0
    fault: str = ""


class Meet(msgspec.Struct, frozen=True):
    """A client meets a trap; `wait` is the seconds in `Retry-After`."""

    trap: Trap
    by_fault: bool
    wait: float = 0.0


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """What has happened at an address, at a time in seconds.

    `begins` is whether a request has arrived, and `succeeded` whether it has got the answer that it
    asks for. `sent` is a request that has ended. `forgets`: nothing before this note is known.
    """

    at: float
    address: Address
    begins: bool = False
    succeeded: bool = False
    met: tuple[Meet, ...] = ()
    sent: Sent | None = None
    forgets: bool = False


class History:
    """The history that one process knows; for use in one event loop only."""

    def __init__(self) -> None:
        self._requests: deque[Sent] = deque(maxlen=MOST_REQUESTS)
        self._tally = Tally()

    def add(self, note: Note) -> None:
        """Add a note after the others."""
        if note.forgets:
            self._requests.clear()
            self._tally = Tally()
        if note.begins:
            self._tally.ask(note.address, note.at)
        if note.succeeded:
            self._tally.succeed(note.address)
            # who the client is was not known when its token was refused
            self._tally.succeed(msgspec.structs.replace(note.address, client=""))
        for each in note.met:
            self._tally.meet(
                each.trap, note.address, note.at, by_fault=each.by_fault, wait=each.wait
            )
        if note.sent is not None:
            self._requests.append(note.sent)

    def catch_up(self) -> None:
        """Take the notes of the other processes."""

    def requests(self) -> Sequence[Sent]:
        """The last requests that have ended."""
        self.catch_up()
        return list(self._requests)

    def report(self) -> Mapping[str, Sequence[Line]]:
        """A line for each trap, by client."""
        self.catch_up()
        return self._tally.report()


class SharedHistory(History):
    """The history that the processes of a service share by the files of a folder.

    The last of the numbered files gets the notes, in the order of all processes. Each process reads
    all of them, some when it adds its own, so that it does not miss a file before it is deleted.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._lock = os.open(folder / "history.lock", os.O_RDWR | os.O_CREAT, 0o600)
        with self._locked():
            self._open(min(self._numbers(), default=0))

    @override
    def add(self, note: Note) -> None:
        with self._locked():
            self._read_all()
            os.write(self._file, msgspec.json.encode(note) + b"\n")
            self._read()
            if self._read_bytes >= MOST_FILE_BYTES:
                self._path(self._number - 1).unlink(missing_ok=True)
                os.close(self._file)
                self._open(self._number + 1)

    @override
    def catch_up(self) -> None:
        with self._locked():
            self._read_all()

    def _read_all(self) -> None:
        self._read()
        for number in sorted(each for each in self._numbers() if each > self._number):
            os.close(self._file)
            self._open(number)
            self._read()

    def _read(self) -> None:
        added = os.fstat(self._file).st_size - self._read_bytes
        lines = os.pread(self._file, added, self._read_bytes).splitlines()
        self._read_bytes += added
        for line in lines:
            # a process that is killed may leave a part of a line
            with suppress(msgspec.DecodeError):
                super().add(msgspec.json.decode(line, type=Note))

    def _open(self, number: int) -> None:
        self._number, self._read_bytes = number, 0
        self._file = os.open(self._path(number), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)

    def _path(self, number: int) -> Path:
        return self._folder / f"{_NAME}{number}"

    def _numbers(self) -> Iterator[int]:
        for each in self._folder.glob(f"{_NAME}*"):
            yield int(each.name.removeprefix(_NAME))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let no other process add or read, for the moment of a write.

        The end of the process releases the lock too.
        """
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
