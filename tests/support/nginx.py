"""nginx on a free port of loopback, with a configuration of the documentation or of `deploy`."""

import os
import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from support.ports import LOOPBACK, free_port
from support.programs import needed
from support.waiting import until

_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@contextmanager
def proxied(http: str, hosts: Mapping[str, int], folder: Path) -> Iterator[str]:
    """The address of a proxy; `http` is the content of the block `http`.

    TLS is replaced by plain HTTP, which the hosts do not learn, and all addresses by free ports of
    loopback.
    """
    program = needed("nginx", "nginx-light")
    port = free_port()
    settings = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    temporary = "".join(f"{name}_temp_path {folder / name};\n" for name in _TEMPORARY)
    settings.write_text(
        f"daemon off;\n{user}\npid {folder / 'nginx.pid'};\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{_moved(http, hosts, port)}\n}}\n"
    )
    errors = folder / "error.log"
    with subprocess.Popen([program, "-p", folder, "-c", settings, "-e", errors]) as process:
        try:
            until(lambda: _is_up(process, port), "an nginx that listens")
            yield f"http://{LOOPBACK}:{port}"
        finally:
            process.terminate()


def _moved(http: str, hosts: Mapping[str, int], port: int) -> str:
    http = re.sub(r"^\s*ssl_certificate.*\n", "", http, flags=re.MULTILINE)
    http = http.replace("$scheme", "https")
    http, listens = re.subn(r"listen .*;", f"listen {LOOPBACK}:{port};", http)
    assert listens == 1
    for host, upstream in hosts.items():
        http, found = re.subn(rf"server {re.escape(host)}\b", f"server {LOOPBACK}:{upstream}", http)
        assert found == 1, host
    return http


def _is_up(process: "subprocess.Popen[bytes]", port: int) -> Literal[True] | None:
    assert process.poll() is None, "nginx does not start"
    with socket.socket() as tried:
        return True if tried.connect_ex((LOOPBACK, port)) == 0 else None
