"""The responses to refused requests: the only writer of errors, in the form of a profile."""

from collections.abc import Iterator
from html import escape
from types import MappingProxyType
from uuid import UUID

import msgspec

from comptoir.errors.messages import filled
from comptoir.errors.refusal import Refusal
from comptoir.profiles.record import Profile, ResponseOverride
from comptoir.request.headers import Headers, asks_for_json, preferred_language
from comptoir.response.response import ODATA_VERSION, Header, Response

_LONGEST_MESSAGE = 1_000
_UNKNOWN: Headers = MappingProxyType({})
_XML = "http://docs.oasis-open.org/odata/ns/metadata"


class ErrorWriter:
    """Writes errors as JSON (OData JSON Format 4.01, section 21)."""

    def __init__(self, profile: Profile) -> None:
        self._overrides = profile.errors
        self._codes = profile.codes
        self._envelope = profile.envelope
        self._media = profile.envelope.media.encode()

    def response(self, refusal: Refusal, request_id: str, headers: Headers = _UNKNOWN) -> Response:
        """The response to a refused request.

        `request_id` is the id of its exchange, and `headers` are those of the request, if they
        could be read.
        """
        media = "json"
        status, code, message = refusal.error.status, refusal.error.code, refusal.message
        override = self._codes.get(code)
        override = self._overrides.get(refusal.group, override)
        if override is not None:
            status, code, media = override.status, override.code, override.media
            message = filled(override.message, refusal.facts)
            languages = headers.get(b"accept-language")
            if languages:
                translated = self._envelope.translations.get(preferred_language(languages), {})
                message = translated.get(refusal.group, message)
        message = message[:_LONGEST_MESSAGE]
        if media != "json":
            if media == "asked":
                media = "json" if asks_for_json(headers) else "xml"
            head, body = _of_gateway(media, code, message)
            head += _headers(refusal, override)
            return Response(status, head, body, refusal=refusal)
        if self._envelope.suffix:
            message += self._envelope.suffix.format(id=as_guid(request_id))
        error: dict[str, str | list[dict[str, str]]] = {"code": code, "message": message}
        if self._envelope.places:
            error |= _places(refusal)
        head = [(b"content-type", self._media), ODATA_VERSION, *_headers(refusal, override)]
        return Response(status, head, msgspec.json.encode({"error": error}), refusal=refusal)


def _headers(refusal: Refusal, override: ResponseOverride | None) -> Iterator[Header]:
    """The headers of a refusal that the override leaves."""
    for name, value in refusal.headers.items():
        if name == "Retry-After" and override is not None and not override.retries:
            continue
        yield name.lower().encode("latin-1"), value.encode("latin-1", "replace")


def _of_gateway(media: str, code: str, message: str) -> tuple[list[Header], bytes]:
    """The headers and the body of an error that does not have the form of the service."""
    if media == "empty":
        return [ODATA_VERSION], b""
    if media == "json":
        error = {"error": {"code": code, "message": message}}
        return [(b"content-type", b"application/json")], msgspec.json.encode(error)
    body = f'<error xmlns="{_XML}"><code>{escape(code)}</code><message>{escape(message)}</message>'
    return [(b"content-type", b"application/xml")], f"{body}</error>".encode()


def _places(refusal: Refusal) -> dict[str, str | list[dict[str, str]]]:
    """The members of an error that say where its errors are."""
    places: dict[str, str | list[dict[str, str]]] = {}
    if refusal.target is not None:
        places["target"] = refusal.target
    if refusal.others:
        places["details"] = [
            {
                "code": each.error.code,
                "message": each.message[:_LONGEST_MESSAGE],
                "target": each.target or "",
            }
            for each in (refusal, *refusal.others)
        ]
    return places


def as_guid(request_id: str) -> UUID:
    """The id of an exchange in the form of a Guid, which its digits begin and end."""
    process, _, number = request_id.partition("-")
    return UUID(f"{process}{int(number, 16):020x}")
