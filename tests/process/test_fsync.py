"""Between the receipt of an update and its 200, the write-ahead log reaches the disk.

This is about SQLite, for which the service itself writes it; PostgreSQL's own processes do so.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from process.conftest import StartServer
from support.client import record, tag_of
from support.databases import ON_SQLITE
from support.programs import needed
from support.traces import ended
from support.waiting import until

UPDATES = 10
_CALLS = "read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,fsync,fdatasync"
_LINE = re.compile(r"(?P<thread>\d+) +(?P<call>.*)")
_SYNC = re.compile(r"f(?:data)?sync\(\d+<(?P<file>[^>]*)>")
_RESUMED = re.compile(r"<\.\.\. f(?:data)?sync resumed>\) += 0")


def events(trace: str) -> Iterator[str]:
    """What the trace shows, in its order: `received`, `synced` and `answered`."""
    syncing: set[str] = set()
    for line in trace.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        thread, call = match["thread"], match["call"]
        sync = _SYNC.match(call)
        if sync is not None and sync["file"].endswith("-wal"):
            if call.endswith("= 0"):
                yield "synced"
            else:
                syncing.add(thread)
        elif thread in syncing and _RESUMED.match(call):
            syncing.remove(thread)
            yield "synced"
        elif '"PATCH /' in call:
            yield "received"
        elif '"HTTP/1.1 200' in call:
            yield "answered"


@ON_SQLITE
def test_the_log_is_on_the_disk_before_the_answer_is_sent(
    start_server: StartServer, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    strace = needed("strace", "strace")
    # -D makes the service itself the child, so that a signal reaches it and not the tracer
    options = ("-D", "-f", "-y", "-s", "32", "-e", f"trace={_CALLS}", "-o", str(trace))
    server = start_server(1, (strace, *options))
    company = server.new_company()
    answer = company.post("shippingAgentsExt", {"code": "A"})
    path = f"shippingAgentsExt({record(answer, 201)['id']})"
    for number in range(UPDATES):
        answer = company.patch(path, {"name": f"{number}"}, if_match=tag_of(answer))
        record(answer)
    server.ask_to_stop()
    server.wait()

    shown = list(events(until(lambda: ended(trace, server.pid), "the end of the trace")))

    assert shown.count("received") == shown.count("answered") == UPDATES
    behind = " ".join(shown[shown.index("received") :])
    assert re.fullmatch(r"(received( synced)+ answered ?)+", behind), behind
