"""The documents by which clients find the token endpoint and its keys."""

from pathlib import Path

import pytest
from joserfc import jws
from joserfc.jwk import KeySet

from support.clients import GRANT, add_client, ask
from support.databases import ON_SQLITE
from support.service import Service, StartService
from support.together import together

OPENID = "/.well-known/openid-configuration"
METHODS = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
ALGORITHMS = ["RS256", "PS256", "ES256", "Ed25519", "EdDSA"]
SERVER = "/.well-known/oauth-authorization-server"


@ON_SQLITE  # the document does not depend on the database
@together(
    ("path", "issuer_path"),
    [
        (OPENID, ""),
        (f"/comptoir{OPENID}", "/comptoir"),
        (f"/comptoir/v2.0{OPENID}", "/comptoir/v2.0"),
        (SERVER, ""),
        (f"{SERVER}/comptoir/v2.0", "/comptoir/v2.0"),
    ],
)
@together(
    ("host", "origin"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("LOCALHOST:8080", "http://localhost:8080"),
        ("evil.example", "http://127.0.0.1:8080"),
    ],
)
def test_the_issuer_is_the_address_of_the_document(
    service: Service, path: str, issuer_path: str, host: str, origin: str
) -> None:
    document = service.origin.get(path[1:], headers={"Host": host}).json()
    root = f"{origin}/comptoir"
    assert document == {
        "issuer": f"{origin}{issuer_path}",
        "authorization_endpoint": f"{root}/oauth2/v2.0/authorize",
        "token_endpoint": f"{root}/oauth2/v2.0/token",
        "jwks_uri": f"{root}/discovery/v2.0/keys",
        "revocation_endpoint": f"{root}/oauth2/v2.0/revoke",
        "introspection_endpoint": f"{root}/oauth2/v2.0/introspect",
        "scopes_supported": ["records.read", "records.write", "events", "faults", "admin"],
        "response_types_supported": [],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": METHODS,
        "token_endpoint_auth_signing_alg_values_supported": ALGORITHMS,
        "revocation_endpoint_auth_methods_supported": METHODS,
        "revocation_endpoint_auth_signing_alg_values_supported": ALGORITHMS,
        "introspection_endpoint_auth_methods_supported": METHODS,
        "introspection_endpoint_auth_signing_alg_values_supported": ALGORITHMS,
    }


@pytest.mark.parametrize("path", ["oauth2/jwks", "comptoir/discovery/v2.0/keys"])
def test_the_keys_verify_the_tokens(
    service: Service, tmp_path_factory: pytest.TempPathFactory, path: str
) -> None:
    token = add_client(service, tmp_path_factory.mktemp("client")).token()
    document = service.origin.get(path).json()
    (key,) = document["keys"]
    assert key.keys() == {"kty", "crv", "x", "y", "kid", "use", "alg"}
    verified = jws.deserialize_compact(token, KeySet.import_key_set(document))
    assert verified.headers()["kid"] == key["kid"]


def test_there_is_no_authorization(service: Service) -> None:
    response = service.origin.get("comptoir/oauth2/v2.0/authorize", "response_type=code")
    assert response.status_code == 400
    assert response.json()["error"] == "unsupported_response_type"


def test_each_tenant_has_its_documents(start_service: StartService, tmp_path: Path) -> None:
    service = start_service(oauth_tenants="one, two")
    webshop = add_client(service, tmp_path)
    for tenant in ("one", "two"):
        document = service.origin.get(f"{tenant}/v2.0{OPENID}").json()
        assert document["issuer"].endswith(f"/{tenant}/v2.0")
        assert service.origin.get(f"{tenant.upper()}/v2.0{OPENID}").json() == document
        path = document["token_endpoint"].removeprefix("http://127.0.0.1:8080/")
        token = ask(service, {**GRANT, **webshop.in_body}, path=path).json()["access_token"]
        assert service.client.using(token).get("companies").status_code == 200
    assert (
        service.origin.get(OPENID[1:]).json()["token_endpoint"].endswith("/one/oauth2/v2.0/token")
    )
    assert service.origin.get(f"comptoir/v2.0{OPENID}").status_code == 404
