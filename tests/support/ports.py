"""Ports of loopback for services that the tests start."""

import random
import socket

LOOPBACK = "127.0.0.1"

# below what systems hand out to clients, so that a port is still free after a restart
PORTS = range(20_000, 32_000)

_reserved: list[socket.socket] = []


def free_port() -> int:
    """A port of TCP on which nothing listens, and which no other test gets.

    The port of UDP with the same number reserves it until this process ends: nobody uses that, and
    the system gives it to one process alone.
    """
    while True:
        port = random.choice(PORTS)
        reserved = socket.socket(type=socket.SOCK_DGRAM)
        with socket.socket() as tried:
            try:
                tried.bind((LOOPBACK, port))
                reserved.bind((LOOPBACK, port))
            except OSError:
                reserved.close()
                continue
        _reserved.append(reserved)
        return port
