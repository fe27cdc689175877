"""Signed tokens in compact form (RFC 7515, 7.1)."""

from joserfc import jws
from joserfc.errors import DecodeError


def extracted(token: str, registry: jws.JWSRegistry) -> jws.CompactSignature:
    """The parts of a token, whose signature is not verified yet; raises `JoseError`."""
    try:
        return jws.extract_compact(token.encode(), registry=registry)
    # joserfc takes any JSON for a header, and reads it without a bound of its depth
    except (UnicodeEncodeError, TypeError, RecursionError) as error:
        raise DecodeError("Invalid header") from error
