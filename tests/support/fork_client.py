"""Runs `comptoir` with the same arguments in a process of the fork server.

The sessions in the pages run it as `.venv/bin/comptoir`. The variable `FORK_SERVER` has the number
of the socket.
"""

import json
import os
import signal
import socket
import sys
from types import FrameType

pids: list[int] = []


def forward(number: int, _: FrameType | None) -> None:
    os.kill(pids[0], number)


fork_server = socket.socket(fileno=int(os.environ["FORK_SERVER"]))
mine, theirs = socket.socketpair()
socket.send_fds(fork_server, [b"1"], [0, 1, 2, theirs.fileno()])
theirs.close()
order = {
    "arguments": sys.argv[1:],
    "environment": dict(os.environ),
    "folder": os.getcwd(),  # noqa: PTH109 - pathlib takes longer to import than the rest
    "alone": False,
}
mine.sendall(json.dumps(order).encode() + b"\n")
with mine.makefile("rb", buffering=0) as lines:
    pids.append(int(lines.readline()))
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, forward)
    status = int(lines.readline())
# as in a shell, the status of a killed process is 128 and the signal's number
os._exit(status if status >= 0 else 128 - status)
