"""From an `Authorization` header to a principal, with the tokens that were verified remembered."""

from collections import OrderedDict

from comptoir.auth.challenge import invalid_token, missing_credentials
from comptoir.auth.principal import Principal
from comptoir.auth.tokens import TokenVerifier, VerifiedToken

MAX_TOKEN_BYTES = 8 * 1024
MAX_HEADER_BYTES = MAX_TOKEN_BYTES + len("Bearer ")
CACHED_TOKENS = 10_000


class Authenticator:
    """Authenticates requests; meant for one event loop, not for several threads at once.

    The `capacity` tokens used last are remembered, since a signature costs a hundred times what a
    look-up costs. A remembered token is still compared with the clock at every use.
    """

    def __init__(self, verifier: TokenVerifier, capacity: int = CACHED_TOKENS) -> None:
        self._verifier = verifier
        self._clock = verifier.clock
        self._capacity = capacity
        self._verified: OrderedDict[bytes, VerifiedToken] = OrderedDict()

    def authenticate(self, authorization: bytes | None) -> Principal:
        """Return the principal of an `Authorization` header's raw value; None is no header.

        Raises a Refusal (401): with a bare challenge where there is no bearer token, with
        `invalid_token` where there is one that is not accepted (RFC 6750 section 3.1).
        """
        if authorization is None:
            raise missing_credentials(
                "The request has no `Authorization` header; send `Authorization: Bearer <token>`"
                " with a token from `comptoir token`."
            )
        if len(authorization) > MAX_HEADER_BYTES:
            raise invalid_token(
                f"The bearer token is longer than {MAX_TOKEN_BYTES} bytes; get one with fewer"
                " claims."
            )
        known = self._verified.get(authorization)
        if known is not None:
            if self._clock() < known.expires_at:
                self._verified.move_to_end(authorization)
                return known.principal
            del self._verified[authorization]
        fresh = self._verifier.verify(_bearer_token(authorization))
        self._verified[authorization] = fresh
        if len(self._verified) > self._capacity:
            self._verified.popitem(last=False)
        return fresh.principal


def _bearer_token(authorization: bytes) -> str:
    scheme, _, credentials = authorization.partition(b" ")
    if scheme.lower() != b"bearer":
        raise missing_credentials(
            "The `Authorization` header does not have the form `Bearer <token>`; send a token from"
            " `comptoir token` in that form."
        )
    token = credentials.strip(b" ")
    if not token.isascii():
        raise invalid_token(
            "The bearer token holds characters other than ASCII; send it exactly as it was issued."
        )
    return token.decode("ascii")
