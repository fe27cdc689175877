"""A kept request as the console sends it again, and why it may not be able to."""

from collections.abc import Iterator
from itertools import groupby
from urllib.parse import unquote

from comptoir.console.exchanges import lacks_body
from comptoir.http.routes import Routes
from comptoir.inspector.record import LONGEST_URL, ExchangeRecord, Message, PartRecord
from comptoir.inspector.redaction import MASK
from comptoir.request.batch.tree import BATCH, Address, Batch, Group, Item, Part
from comptoir.request.headers import Headers
from comptoir.request.methods import READ_METHODS

_LACKS_PARTS = "Not all requests of the batch are kept"


def hindrance(record: ExchangeRecord, routes: Routes) -> str:
    """Why the console cannot send a request again; blank if it can."""
    if not routes.serves(record.path.encode("latin-1", "replace")):
        return "The request is not for the API"
    is_batch = unquote(record.path.rpartition("/")[2]) == BATCH
    return _LACKS_PARTS if is_batch and not record.parts else omission(record)


def omission(record: ExchangeRecord) -> str:
    """What of a request is not kept; blank if it is kept as a whole."""
    if len(record.parts) < record.requests:
        return _LACKS_PARTS
    sent = [(record.path, record.query, record.request)]
    for part in record.parts:
        path, _, query = part.url.partition("?")
        sent.append((path, query, part.request))
    for path, query, request in sent:
        if MASK in f"{path}{query}{request.body.text}":
            return "The request has a secret, which is not kept"
        if max(len(path), len(query)) >= LONGEST_URL:
            return "The whole URL of the request is not kept"
    # the parts of a batch are kept instead of its body
    if any(map(lacks_body, [each.request for each in record.parts] or [record.request])):
        return "The whole body of the request is not kept"
    return ""


def is_writing(record: ExchangeRecord) -> bool:
    """Whether a request, or one of a batch, may change records."""
    methods = [each.method for each in record.parts] or [record.method]
    return not READ_METHODS.issuperset(methods)


def headers_of(message: Message) -> Headers:
    """The headers of a request, without those whose values are not kept."""
    return {
        name.lower().encode("latin-1"): value.encode("latin-1")
        for name, value in message.headers
        if MASK not in value
    }


def batch_of(record: ExchangeRecord) -> Batch:
    """The batch of a request that has parts."""
    numbered = enumerate(record.parts, 1)
    return Batch(tuple(_items([(_part(each, number), each.group) for number, each in numbered])))


def _items(parts: list[tuple[Part, str]]) -> Iterator[Item]:
    for group, members in groupby(parts, key=lambda each: each[1]):
        found = [part for part, _ in members]
        if group:
            yield Group(group, tuple(found))
        else:
            yield from found


def _part(kept: PartRecord, number: int) -> Part:
    path, _, query = kept.url.partition("?")
    reference = None
    if path.startswith("$"):
        reference, slash, rest = path[1:].partition("/")
        path = slash + rest
    return Part(
        number,
        kept.name if kept.id is None else f"requests[{number - 1}]",
        kept.id,
        kept.method,
        Address(path, query, reference),
        headers_of(kept.request),
        (kept.request.body.text or "").encode(),
        kept.depends_on,
        kept.condition,
    )
