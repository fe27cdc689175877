"""azure-identity for Python. It keeps a token."""

from azure.core.credentials import TokenCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import CertificateCredential, ClientSecretCredential

from clients.oauth_report import CLIENT_ID, ORIGIN, SCOPES, RefusedError, print_report, read_with


def main() -> None:
    print_report({"secret": with_secret}, {"certificate": with_certificate})


def with_secret(secret: str) -> str:
    return _read(
        ClientSecretCredential(
            "comptoir", CLIENT_ID, secret, authority=ORIGIN, disable_instance_discovery=True
        )
    )


def with_certificate(key: str) -> str:
    return _read(
        CertificateCredential(
            "comptoir", CLIENT_ID, key, authority=ORIGIN, disable_instance_discovery=True
        )
    )


def _read(credential: TokenCredential) -> str:
    try:
        token = credential.get_token(*SCOPES).token
    except ClientAuthenticationError as error:
        raise RefusedError(error.message) from error
    assert credential.get_token(*SCOPES).token == token
    return read_with(token)


main()
