"""Clients get tokens through the documented proxies, which hide the pages for the operator."""

from pathlib import Path
from urllib.parse import urlencode

from comptoir.catalog import MODEL
from comptoir.config import Settings
from deploy.compose import of_page
from support.clients import FORM, GRANT, TOKEN_PATH, add_client
from support.databases import ON_SQLITE, FreshDatabase
from support.nginx import proxied
from support.ports import free_port
from support.server import Server
from support.sockets import http_client

PUBLIC = "https://erp.example.com"


@ON_SQLITE
def test_a_client_gets_a_token_through_each_proxy(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    """The proxies behave the same with any database."""
    settings = Settings(
        database=fresh_database(tmp_path, MODEL),
        keys=str(tmp_path / "keys"),
        trusted_proxies="127.0.0.1",
        public_url=f"{PUBLIC}/api",
    )
    port = free_port()
    with Server(settings, tmp_path, port=port) as server, http_client() as client:
        content = urlencode({**GRANT, **add_client(server, tmp_path).in_body})
        for name in ("run.md", "several-hosts.md"):
            http = of_page(name).replace("http://127.0.0.1:8080", f"http://127.0.0.1:{port}")
            hosts = [f"{each}.internal" for each in ("one", "two") if f"{each}.internal" in http]
            with proxied(http, {f"{each}:8080": port for each in hosts}, tmp_path) as url:
                given = client.post(f"{url}/{TOKEN_PATH}", content=content, headers=FORM)
                assert given.status_code == 200, given.text
                bearer = {"Authorization": f"Bearer {given.json()['access_token']}"}
                assert client.get(f"{url}/api/companies", headers=bearer).status_code == 200
                discovery = client.get(
                    f"{url}/comptoir/v2.0/.well-known/openid-configuration"
                ).json()
                assert discovery["issuer"] == f"{PUBLIC}/comptoir/v2.0"
                for path in (discovery["jwks_uri"], f"{PUBLIC}/.well-known/openid-configuration"):
                    assert client.get(path.replace(PUBLIC, url)).status_code == 200
                for path in ("metrics", "readyz", "healthz"):
                    assert client.get(f"{url}/{path}").status_code == 404
