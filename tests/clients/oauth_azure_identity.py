"""azure-identity for Python. It keeps a token."""

from collections.abc import Callable
from functools import partial

from azure.core.credentials import TokenCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import CertificateCredential, ClientSecretCredential

from clients.oauth_report import CLIENT_ID, ORIGIN, SCOPES, RefusedError, print_report, read_with


def main() -> None:
    print_report(
        {"secret": partial(_read, ClientSecretCredential)},
        {"certificate": partial(_read, CertificateCredential)},
    )


def _read(made: Callable[..., TokenCredential], given: str) -> str:
    credential = made(
        "comptoir", CLIENT_ID, given, authority=ORIGIN, disable_instance_discovery=True
    )
    try:
        token = credential.get_token(*SCOPES).token
    except ClientAuthenticationError as error:
        raise RefusedError(error.message) from error
    assert credential.get_token(*SCOPES).token == token
    return read_with(token)


main()
