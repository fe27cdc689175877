"""The refusals of this station, each with the challenge that RFC 6750 section 3 asks for."""

import re

from comptoir.errors import INVALID_CREDENTIALS, REQUEST_DENIED, Refusal

_NOT_IN_DESCRIPTION = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")


def missing_credentials(message: str) -> Refusal:
    """Return the 401 for a request that carries no bearer token.

    The challenge has no `error` attribute, since the client may not have known that it must
    authenticate (RFC 6750 section 3.1).
    """
    return Refusal(
        INVALID_CREDENTIALS,
        message,
        target="Authorization",
        headers={"WWW-Authenticate": 'Bearer realm="comptoir"'},
    )


def invalid_token(message: str) -> Refusal:
    """Return the 401 for a bearer token that is not accepted (RFC 6750 section 3.1).

    `message` says which check failed and what to do; it is repeated as `error_description`, with
    a `'` for every character that the attribute cannot hold (RFC 6750 section 3).
    """
    description = _NOT_IN_DESCRIPTION.sub("'", message)
    challenge = f'Bearer error="invalid_token", error_description="{description}"'
    return Refusal(
        INVALID_CREDENTIALS,
        message,
        target="Authorization",
        headers={"WWW-Authenticate": challenge},
    )


def insufficient_scope(scope: str) -> Refusal:
    """Return the 403 for a token that lacks `scope` (RFC 6750 section 3.1)."""
    return Refusal(
        REQUEST_DENIED,
        f"This operation needs the scope `{scope}`, which the token does not carry;"
        " ask for a token that carries it.",
        headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
    )
