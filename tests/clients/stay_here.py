"""Ends the script of a client that looks up the name of another machine."""

import os
import sys


def stay_here() -> None:
    """Let this process know no other machine."""
    sys.addaudithook(_end_elsewhere)


def _end_elsewhere(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo" and arguments[0] not in ("localhost", "127.0.0.1"):
        # a library could catch an exception
        sys.stderr.write(f"asks for {arguments[0]}\n")
        sys.stderr.flush()
        os._exit(1)
