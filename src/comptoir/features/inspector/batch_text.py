"""The body of a kept batch, which is kept by its requests, in the format that the client sent."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from comptoir.config import Settings
from comptoir.features.inspector.exchanges import lacks_body
from comptoir.features.inspector.record import ExchangeRecord, Message, PartRecord
from comptoir.http.redaction import MASK
from comptoir.request.batch.multipart import MULTIPART, boundary_of

_TYPE = "content-type"
_LENGTH = "content-length"


def batch_text(record: ExchangeRecord, settings: Settings) -> str:
    """A body with the requests of a batch that are kept, each without a body that is not."""
    content_type = _headers(record.request).get(_TYPE, "")
    base = settings.base_path
    if not content_type.lower().startswith(MULTIPART):
        return _documents(record.parts, base)
    return "\n".join(_multipart(record.parts, boundary_of(content_type), base))


def _documents(parts: Sequence[PartRecord], base: str) -> str:
    requests: list[Mapping[str, object]] = []
    for part in parts:
        headers = _headers(part.request)
        document: dict[str, object] = {
            "id": part.id,
            "atomicityGroup": part.group,
            "dependsOn": part.depends_on,
            "if": "" if part.condition is None else part.condition.text,
            "method": part.method,
            "url": _url(part, base),
            "headers": headers,
        }
        document = {name: value for name, value in document.items() if value}
        text = _body(part.request)
        if text:
            document["body"] = _value(text, headers.get(_TYPE, "application/json"))
        requests.append(document)
    return msgspec.json.encode({"requests": requests}).decode()


def _value(text: str, content_type: str) -> object:
    """A body as the member of a request (OData JSON Format 4.01, 19.1)."""
    media = content_type.partition(";")[0].strip().lower()
    if media == "application/json" or media.endswith("+json"):
        return msgspec.Raw(text.encode())
    return text if media.startswith("text/") else urlsafe_b64encode(text.encode()).decode()


def _multipart(parts: Sequence[PartRecord], boundary: str, base: str) -> Iterator[str]:
    for group, members in groupby(parts, key=lambda each: each.group):
        if not group:
            for part in members:
                yield from (f"--{boundary}", *_http(part, base))
            continue
        inner = "changes" if boundary != "changes" else "set"
        yield from (f"--{boundary}", f"Content-Type: {MULTIPART}; boundary={inner}", "")
        for part in members:
            yield from (f"--{inner}", *_http(part, base))
        yield f"--{inner}--"
    yield from (f"--{boundary}--", "")


def _http(part: PartRecord, base: str) -> Iterator[str]:
    yield from ("Content-Type: application/http", "Content-Transfer-Encoding: binary")
    headers = {name: value for name, value in _headers(part.request).items() if name != _LENGTH}
    if part.id is not None:
        yield f"Content-ID: {part.id}"
        headers.pop("content-id", None)
    yield from ("", f"{part.method} {_url(part, base)} HTTP/1.1")
    yield from (f"{name}: {value}" for name, value in headers.items())
    yield from ("", _body(part.request))


def _headers(message: Message) -> Mapping[str, str]:
    return {name.lower(): value for name, value in message.headers if value != MASK}


def _url(part: PartRecord, base: str) -> str:
    """The URL of a request at any service root, or one that begins with `$id`."""
    return part.url if part.url.startswith("$") else f"{base}{part.url}"


def _body(message: Message) -> str:
    return "" if lacks_body(message) else message.body.text or ""
