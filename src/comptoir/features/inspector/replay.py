"""A kept request as the console sends it again, and why it may not be able to."""

from urllib.parse import unquote

from comptoir.features.inspector.exchanges import lacks_body
from comptoir.features.inspector.record import LONGEST_URL, ExchangeRecord, Message
from comptoir.http.redaction import MASK
from comptoir.http.routes import Routes
from comptoir.request.batch.tree import BATCH
from comptoir.request.headers import Headers
from comptoir.request.path import READ_METHODS


def why_not_replayable(record: ExchangeRecord, routes: Routes) -> str:
    """Why the console cannot send a request again; blank if it can."""
    if not routes.serves(record.path.encode("latin-1", "replace")):
        return "The request is not for the API"
    is_batch = unquote(record.path.rpartition("/")[2]) == BATCH
    return "The request is a batch" if is_batch else missing_part(record)


def missing_part(record: ExchangeRecord) -> str:
    """The part of a request that is not kept; blank if it is kept as a whole."""
    if len(record.parts) < record.requests:
        return "Not all requests of the batch are kept"
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
    """Whether a request may change records."""
    return record.method not in READ_METHODS


def headers_of(message: Message) -> Headers:
    """The headers of a request, without those whose values are not kept."""
    return {
        name.lower().encode("latin-1"): value.encode("latin-1")
        for name, value in message.headers
        if MASK not in value
    }
