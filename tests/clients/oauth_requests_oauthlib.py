"""requests-oauthlib: the client's credentials as Basic, and in the body."""

from oauthlib.oauth2 import BackendApplicationClient, InvalidClientError
from requests_oauthlib import OAuth2Session

from clients.oauth_report import CLIENT_ID, TOKEN_ENDPOINT, RefusedError, print_report, read_by


def main() -> None:
    print_report(
        with_secret={
            "basic": lambda secret: _read(secret, in_body=False),
            "body": lambda secret: _read(secret, in_body=True),
        },
        with_key={},
    )


def _read(secret: str, *, in_body: bool) -> str:
    session = OAuth2Session(client=BackendApplicationClient(CLIENT_ID))
    try:
        session.fetch_token(TOKEN_ENDPOINT, client_secret=secret, include_client_id=in_body)
    except InvalidClientError as error:
        raise RefusedError(error.error) from error
    return read_by(session)


main()
