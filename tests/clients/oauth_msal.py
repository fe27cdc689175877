"""MSAL for Python: an authority with a tenant, and one of OpenID Connect. It keeps a token."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA1
from msal import ConfidentialClientApplication

from clients.oauth_report import CLIENT_ID, ORIGIN, SCOPES, RefusedError, print_report, read_with

of_a_tenant = partial(
    ConfidentialClientApplication,
    CLIENT_ID,
    authority=f"{ORIGIN}/comptoir",
    instance_discovery=False,
)
of_openid_connect = partial(
    ConfidentialClientApplication, CLIENT_ID, oidc_authority=f"{ORIGIN}/comptoir/v2.0"
)


def main() -> None:
    print_report(
        with_secret={
            "authority, secret": partial(_read, of_a_tenant, str),
            "oidc_authority, secret": partial(_read, of_openid_connect, str),
        },
        with_key={
            "authority, certificate": partial(_read, of_a_tenant, _certificate),
            "oidc_authority, certificate": partial(_read, of_openid_connect, _certificate),
            # as in older examples
            "authority, thumbprint": partial(_read, of_a_tenant, _thumbprint),
        },
    )


def _certificate(key: str) -> dict[str, str]:
    pem = Path(key).read_text()
    return {"private_key": pem, "public_certificate": pem}


def _thumbprint(key: str) -> dict[str, str]:
    pem = Path(key).read_text()
    certificate = x509.load_pem_x509_certificate(pem.encode())
    return {"private_key": pem, "thumbprint": certificate.fingerprint(SHA1()).hex()}


def _read(
    made: Callable[..., ConfidentialClientApplication],
    credential: Callable[[str], object],
    given: str,
) -> str:
    application = made(client_credential=credential(given))
    result = application.acquire_token_for_client(SCOPES)
    if "error" in result:
        raise RefusedError(result["error"])
    assert application.acquire_token_for_client(SCOPES)["token_source"] == "cache"
    return read_with(result["access_token"])


main()
