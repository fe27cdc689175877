"""The command `comptoir`, which is also `python -m comptoir`.

While the modules are imported, an interrupt ends the process at once: an exception could come up
within any import, and end in a traceback. A worker leaves interrupts to its parent.
"""

import os
import signal
import sys
from types import FrameType

_IS_WORKER = "multiprocessing.spawn" in sys.modules
_HANDLED = signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _end(number: int, _: FrameType | None) -> None:
    os.write(2, b"comptoir: interrupted.\n")
    os._exit(128 + number)


if _HANDLED:
    signal.signal(signal.SIGINT, signal.SIG_IGN if _IS_WORKER else _end)

from comptoir.cli import main as run  # noqa: E402 - an interrupt is handled from here on


def main() -> None:
    """Run the command."""
    if _HANDLED:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
