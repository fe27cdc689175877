"""The documents by which clients find the token endpoint and its keys."""

from pathlib import Path

import pytest
from joserfc import jws
from joserfc.jwk import KeySet

from support.clients import GRANT, add_client, ask
from support.service import Service, StartService

OPENID = "/.well-known/openid-configuration"


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
