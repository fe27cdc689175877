"""The parts of responses that several faults have in common."""

import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import formatdate
from types import MappingProxyType

from comptoir.errors.refusal import Refusal
from comptoir.features.rehearsal.faults.fault import AffectedRequest, parameter
from comptoir.response.response import Response, whole_body

_DATE_SECONDS = 30
"""The seconds from now to a date in `Retry-After`."""

_HTML = b"text/html; charset=us-ascii"

_GATEWAY_PAGES: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        502: ("Bad Gateway", "HTTP Error 502. The gateway received an invalid response."),
        503: ("Service Unavailable", "HTTP Error 503. The service is unavailable."),
        504: ("Gateway Timeout", "HTTP Error 504. The gateway received no response in time."),
    }
)

RetryAfter = int | str | None


def retry_parameter() -> RetryAfter:
    """A field of a fault for the header `Retry-After`."""
    given: RetryAfter = None
    return parameter(
        "The seconds in `Retry-After`; `date` for a date in 30 seconds, `none` for no header. By "
        "default, the profile decides.",
        given,
        0,
        3_600,
        words=("date", "none"),
    )


def retry_headers(wish: RetryAfter) -> Mapping[str, str]:
    """The header `Retry-After`."""
    if wish is None:
        return {"Retry-After": "1"}
    if wish == "none":
        return {}
    # a profile leaves out a header that it names `Retry-After`, but not one that a rule asks for
    if wish == "date":
        return {"retry-after": formatdate(time.time() + _DATE_SECONDS, usegmt=True)}
    return {"retry-after": str(wish)}


def retry_seconds(wish: RetryAfter) -> float:
    """The seconds that a client is asked to wait; 0 where the profile decides."""
    if isinstance(wish, int):
        return wish
    return _DATE_SECONDS if wish == "date" else 0


def gateway_page(status: int, headers: Mapping[str, str] = MappingProxyType({})) -> Response:
    """The page of a gateway, which has neither the form nor the media type of the service."""
    title, text = _GATEWAY_PAGES[status]
    page = f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>"
    sent = [(b"content-type", _HTML)]
    sent += [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return Response(status, sent, page.encode())


async def lose(affected: AffectedRequest) -> None:
    """Perform a request whose response is lost."""
    with suppress(Refusal):
        await whole_body(await affected.perform())
