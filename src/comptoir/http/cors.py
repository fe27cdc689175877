"""Requests by scripts of other sites: the CORS protocol (Fetch Standard, 3.2).

Responses never allow credentials: a script needs a bearer token, so it cannot abuse a cookie of a
user's browser, and the origin `*` alone does not grant access.
"""

from starlette.types import Scope

from comptoir.request.headers import combined
from comptoir.response.response import Header, Response

ANY = "*"
METHODS = b"GET, HEAD, POST, PATCH, PUT, DELETE"
MAX_AGE_SECONDS = 7_200
"""Seconds for which a browser may cache a preflight; no browser allows more."""

ALLOWED_HEADERS = frozenset(
    {
        b"accept",
        b"accept-charset",
        b"accept-language",
        b"authorization",
        b"cache-control",
        b"client-request-id",
        b"consistency-token",
        b"content-id",
        b"content-language",
        b"content-type",
        b"data-access-intent",
        b"dataserviceversion",
        b"if-match",
        b"if-modified-since",
        b"if-none-match",
        b"maxdataserviceversion",
        b"odata-isolation",
        b"odata-maxversion",
        b"odata-version",
        b"pragma",
        b"prefer",
        b"repeatability-client-id",
        b"repeatability-first-sent",
        b"repeatability-request-id",
        b"return-client-request-id",
        b"sap-cancel-on-close",
        b"sap-contextid",
        b"sap-contextid-accept",
        b"sap-statistics",
        b"traceparent",
        b"tracestate",
        b"x-correlation-id",
        b"x-csrf-token",
        b"x-ms-client-request-id",
        b"x-request-id",
        b"x-requested-with",
    }
)
"""Headers that a script may send: the service reads some, and client libraries add the others."""

_EXPOSED: Header = (
    b"access-control-expose-headers",
    (
        b"Consistency-Token, ETag, Location, OData-EntityId, OData-Version, Preference-Applied, "
        b"RateLimit, RateLimit-Policy, Repeatability-Result, Retry-After, WWW-Authenticate, "
        b"X-Request-Id"
    ),
)


class Cors:
    """The headers by which browsers let scripts of other sites read the responses."""

    def __init__(self, origins: frozenset[str], others: frozenset[bytes]) -> None:
        """`others` are headers that a script may send besides those that are always allowed."""
        self._allowed = ALLOWED_HEADERS | others
        self._any = ANY in origins
        self._origins = frozenset(origin.encode() for origin in origins)

    def preflight(self, scope: Scope) -> Response | None:
        """The response to a preflight request of an allowed origin; None for other requests."""
        if scope["method"] != "OPTIONS":
            return None
        headers = combined(scope["headers"])
        origin = headers.get(b"origin")
        if b"access-control-request-method" not in headers or not self._allows(origin):
            return None
        requested = headers.get(b"access-control-request-headers", b"").lower().split(b",")
        allowed = b", ".join(sorted(self._allowed.intersection(map(bytes.strip, requested))))
        added: list[Header] = [
            (b"access-control-allow-methods", METHODS),
            (b"access-control-max-age", b"%d" % MAX_AGE_SECONDS),
        ]
        if allowed:
            added.append((b"access-control-allow-headers", allowed))
        return Response(204, added)

    def headers(self, scope: Scope) -> list[Header]:
        """Headers for every response; a browser hides even an error without them."""
        if self._any:
            return [(b"access-control-allow-origin", b"*"), _EXPOSED]
        varies: Header = (b"vary", b"Origin")
        origin = combined(scope["headers"]).get(b"origin")
        if origin is None or not self._allows(origin):
            return [varies]
        return [(b"access-control-allow-origin", origin), _EXPOSED, varies]

    def _allows(self, origin: bytes | None) -> bool:
        return origin is not None and (self._any or origin in self._origins)
