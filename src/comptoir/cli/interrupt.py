"""Interrupts: they end the process at once during its imports, and the command afterwards.

An exception during an import could end in a traceback.
"""

import os
import signal
import sys
from types import FrameType


class Interrupted(Exception):  # noqa: N818 - a request of the user, not an error
    """A signal has ended the command; the message is for the user."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


def end_at_once() -> None:
    """Let an interrupt end the process, unless its parent ignores interrupts.

    A worker ignores them: its parent stops it.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        is_worker = "multiprocessing.spawn" in sys.modules
        signal.signal(signal.SIGINT, signal.SIG_IGN if is_worker else _end)


def raise_again() -> None:
    """Let an interrupt raise `KeyboardInterrupt` again, after `end_at_once`."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, _: FrameType | None) -> None:
    os.write(2, b"comptoir: interrupted.\n")
    os._exit(128 + number)
