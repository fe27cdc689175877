"""A kept request as a command of `curl`."""

from collections.abc import Iterator

from comptoir.auth.origins import own_origins
from comptoir.config import Settings
from comptoir.console.batch_text import batch_text
from comptoir.console.curl import curl
from comptoir.console.exchanges import lacks_body
from comptoir.inspector.record import ExchangeRecord, Message
from comptoir.inspector.redaction import MASK

_OF_CONNECTION = frozenset(
    {
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "host",
        "transfer-encoding",
        "user-agent",
    }
)
"""Headers of a request that the next client sets by itself."""


def command(record: ExchangeRecord, settings: Settings) -> str:
    """A command that sends what is kept of a request, with the token in the variable `TOKEN`."""
    query = f"?{record.query}" if record.query else ""
    # a client may send a path that, joined to an address, would lead to another host
    url = f"{own_origins(settings)[0]}/{record.path.removeprefix('/')}{query}"
    body = "" if lacks_body(record.request) else record.request.body.text or ""
    if record.parts:
        body = batch_text(record, settings)
    return curl(record.method, url, dict(_repeated(record.request)), body)


def _repeated(message: Message) -> Iterator[tuple[str, str]]:
    for name, value in message.headers:
        if name.lower() not in _OF_CONNECTION and value != MASK:
            yield name, value
