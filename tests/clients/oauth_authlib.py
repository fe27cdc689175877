"""Authlib: the client's credentials as Basic, in the body, and as `private_key_jwt`.

It replaces a token that has expired.
"""

from pathlib import Path

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT

from clients.oauth_report import CLIENT_ID, TOKEN_ENDPOINT, RefusedError, print_report, read_by


def main() -> None:
    print_report(
        with_secret={
            "basic": lambda secret: _read(secret, "client_secret_basic"),
            "body": lambda secret: _read(secret, "client_secret_post"),
        },
        with_key={"key": lambda key: _read(Path(key).read_text(), PrivateKeyJWT(TOKEN_ENDPOINT))},
    )


def _read(credential: str, method: str | PrivateKeyJWT) -> str:
    session = OAuth2Session(
        CLIENT_ID,
        credential,
        token_endpoint_auth_method=method,
        token_endpoint=TOKEN_ENDPOINT,
        grant_type="client_credentials",
    )
    try:
        session.fetch_token()
    except OAuthError as error:
        raise RefusedError(error.error) from error
    first = session.token["access_token"]
    session.token["expires_at"] = 0
    code = read_by(session)
    assert session.token["access_token"] != first
    return code


main()
