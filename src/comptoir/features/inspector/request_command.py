"""A kept request as a command of `curl`."""

from collections.abc import Iterator, Mapping

from comptoir.auth.origins import needs_credentials, own_origins
from comptoir.auth.records import Client
from comptoir.auth.token_endpoint import GRANT
from comptoir.config import Settings
from comptoir.features.console.curl import curl, form_curl
from comptoir.features.inspector.batch_text import batch_text
from comptoir.features.inspector.exchanges import lacks_body
from comptoir.features.inspector.record import ExchangeRecord, Message
from comptoir.http.redaction import MASK

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


def command(record: ExchangeRecord, client: Client | None, settings: Settings) -> str:
    """A command that sends what is kept of a request, with the token in the variable `TOKEN`.

    For the token endpoint, it asks for what the client may have, with the secret in a variable too.
    """
    query = f"?{record.query}" if record.query else ""
    # a client may send a path that, joined to an address, would lead to another host
    url = f"{own_origins(settings)[0]}/{record.path.removeprefix('/')}{query}"
    if needs_credentials(record.path, settings):
        return form_curl(url, _form(record.path, client))
    body = "" if lacks_body(record.request) else record.request.body.text or ""
    if record.parts:
        body = batch_text(record, settings)
    return curl(record.method, url, dict(_repeated(record.request)), body)


def _form(path: str, client: Client | None) -> Mapping[str, str]:
    is_grant = path.endswith("/token")
    return {
        **({"grant_type": GRANT} if is_grant else {"token": "$TOKEN"}),
        "client_id": "$CLIENT_ID" if client is None else client.id,
        "client_secret": "$CLIENT_SECRET",
    }


def _repeated(message: Message) -> Iterator[tuple[str, str]]:
    for name, value in message.headers:
        if name.lower() not in _OF_CONNECTION and MASK not in value:
            yield name, value
