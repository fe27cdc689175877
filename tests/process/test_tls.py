"""TLS: versions, renewal without a restart, the ends of connections, and addresses."""

import re
import socket
import ssl
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from cryptography.x509 import load_pem_x509_certificates

from comptoir.auth.local_authority import Pair, local_certificate
from comptoir.config import Settings
from process.conftest import StartServer
from support.certificates import trusting, write_pair
from support.clients import TOKEN_PATH, add_client
from support.databases import ON_SQLITE, writes_held
from support.log import line_about
from support.server import STOP_OVERRUN, Server, trust_of
from support.sockets import ask, head, in_full
from support.waiting import PATIENCE_SECONDS, until

HEALTH = head("GET", "/healthz", {})
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
RETAINED = "the former TLS certificate remains in use"


def trusted(server: Server) -> ssl.SSLContext:
    context = trust_of(server.settings)
    assert context is not None
    return context


def shake_hands(server: Server, context: ssl.SSLContext) -> ssl.SSLSocket:
    connection = socket.create_connection(server.address, timeout=PATIENCE_SECONDS)
    return context.wrap_socket(connection, server_hostname=server.address[0])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_supported_version(version: ssl.TLSVersion, secure_server: Server) -> None:
    context = trusted(secure_server)
    context.minimum_version = context.maximum_version = version
    with shake_hands(secure_server, context) as connection:
        assert connection.version() == version.name.replace("_", ".")
        assert ask(connection, HEALTH).content == b"ok\n"


def test_a_version_below_1_2_is_refused(secure_server: Server) -> None:
    context = trusted(secure_server)
    # so that the client itself would use the version
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="deprecated"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="deprecated"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    # the service has hung up, which releases of Python and OpenSSL report differently
    with pytest.raises((ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionResetError)):
        shake_hands(secure_server, context)


def test_a_plain_request_gets_no_response(secure_server: Server) -> None:
    before = secure_server.log.read_text()
    with socket.create_connection(secure_server.address, timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(head("GET", "/metrics", {}))
        assert not connection.recv(1 << 16).startswith(b"HTTP")
    assert "/metrics" not in secure_server.log.read_text().removeprefix(before)


def has_end(server: Server, end: float) -> bool | None:
    """Whether the metrics have this end of the certificate; None if not yet."""
    context = trusted(server)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with shake_hands(server, context) as connection:
        text = ask(connection, head("GET", "/metrics", {})).text
    (value,) = re.findall(r"^comptoir_certificate_end_timestamp_seconds (.*)$", text, re.MULTILINE)
    return float(value) == end or None


@ON_SQLITE
def test_the_metrics_have_the_end_of_the_certificate(start_server: StartServer) -> None:
    server = start_server(workers=2, https=True)
    pair = Pair(Path(server.settings.tls_certificate), Path(server.settings.tls_key))
    for days in (30, 60):
        write_pair(pair, ends_in_days=days)
        (written,) = load_pem_x509_certificates(pair.certificate.read_bytes())
        end = written.not_valid_after_utc.timestamp()
        until(partial(has_end, server, end), "the end of the new one")


@ON_SQLITE
def test_a_renewed_certificate_is_presented_without_a_restart(
    start_server: StartServer, tmp_path: Path
) -> None:
    """Meanwhile, each file is replaced by itself, and the former certificate stays in use."""
    server = start_server(workers=2, https=True)
    former, renewed = trusted(server), local_certificate(tmp_path / "renewed")
    open_before = shake_hands(server, former)

    key = Path(server.settings.tls_key)
    renewed.localhost.key.replace(key)
    for _ in range(6):
        shake_hands(server, former).close()
    server.wait_for_log(RETAINED)
    renewed.localhost.certificate.replace(server.settings.tls_certificate)
    for _ in range(6):
        with shake_hands(server, trusting(renewed.authority.certificate)) as connection:
            assert ask(connection, HEALTH).content == b"ok\n"
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, former)

    with open_before:
        assert ask(open_before, HEALTH).content == b"ok\n"
    assert server.log.read_text().count(RETAINED) <= 2


@ON_SQLITE
def test_an_expired_certificate_does_not_replace_a_valid_one(start_server: StartServer) -> None:
    server = start_server(https=True)
    assert server.origin.get("healthz").text == "ok\n"
    local = local_certificate(Path(server.settings.tls_key).parent)
    write_pair(local.localhost, begins_in_days=-9, ends_in_days=-1, issuer=local.authority)
    with shake_hands(server, trusted(server)) as connection:
        assert ask(connection, HEALTH).content == b"ok\n"
    server.wait_for_log("expired")


def test_the_end_of_the_input_ends_the_connection(secure_server: Server) -> None:
    """With TLS, a client that has shut down its sending side gets no response any more."""
    company = secure_server.new_company()
    request = company.build("POST", "shippingAgentsExt", body={"code": "A"})
    with writes_held(secure_server.settings.database) as let_go:
        connection = secure_server.connect()
        assert isinstance(connection, ssl.SSLSocket)
        connection.sendall(in_full(request))
        with connection.unwrap() as plain:
            assert plain.recv(1) == b""
        let_go()

    # a write that the client no longer waits for may have begun
    assert line_about(secure_server, request.url.path).status in (201, 499)
    assert "eof_received" not in secure_server.log.read_text()


def until_cut(connection: ssl.SSLSocket) -> bytes:
    """What arrives before a connection ends without the end of TLS."""
    received = b""
    try:
        while piece := connection.recv(65_536):
            received += piece
    except (ssl.SSLEOFError, ConnectionResetError):
        return received
    pytest.fail("the service has ended TLS regularly")


@ON_SQLITE
def test_a_fault_cuts_a_connection_without_the_end_of_tls(start_server: StartServer) -> None:
    """What was to arrive does; then the client cannot take the end for a regular one."""
    server = start_server(https=True, faults="on")
    company = server.new_company()
    faults = (
        ("reset", b""),
        ("reset; phase=after", b""),
        ("reset; phase=body; bytes=20", b'14\r\n{"@odata.context":"h\r\n'),
    )
    for version, (fault, expected) in product(VERSIONS, faults):
        context = trusted(server)
        context.minimum_version = context.maximum_version = version
        request = company.build("GET", "shippingAgentsExt", headers={"Comptoir-Fault": fault})
        with (
            socket.create_connection(server.address, timeout=PATIENCE_SECONDS) as plain,
            context.wrap_socket(
                plain, server_hostname=server.address[0], suppress_ragged_eofs=False
            ) as connection,
        ):
            connection.sendall(in_full(request))
            received = until_cut(connection)
        assert received.partition(b"\r\n\r\n")[2] == expected


@ON_SQLITE
def test_a_stop_does_not_wait_for_idle_clients(start_server: StartServer) -> None:
    """Such a client reads the end of TLS when it uses the connection again."""
    server = start_server(https=True)
    with (
        shake_hands(server, trusted(server)) as idle,
        socket.create_connection(server.address) as before_its_handshake,
    ):
        assert ask(idle, HEALTH).content == b"ok\n"
        before_its_handshake.sendall(b"\x16\x03\x01")
        server.ask_to_stop()
        server.wait()
    assert STOP_OVERRUN not in server.log.read_text()


def test_links_and_batches_have_the_address_of_the_service(secure_server: Server) -> None:
    company = secure_server.new_company()
    company.load("shippingAgentsExt", {"code": "A"}, {"code": "B"})
    page = company.get("shippingAgentsExt", headers={"Prefer": "maxpagesize=1"}).json()
    assert page["@odata.nextLink"].startswith(f"https://127.0.0.1:{secure_server.address[1]}/api/")

    requests = [{"id": "1", "method": "GET", "url": f"{company.root}/shippingAgentsExt"}]
    answer = secure_server.client.post(
        "$batch", {"requests": requests}, {"Host": "proxy.example.com"}
    )
    assert [each["status"] for each in answer.json()["responses"]] == [200]


def test_a_client_gets_a_token_of_the_origin_that_it_uses(
    secure_server: Server, tmp_path: Path
) -> None:
    webshop = add_client(secure_server, tmp_path)
    company = secure_server.new_company()
    assert company.using(webshop.token()).listed("shippingAgentsExt") == []

    origin = secure_server.origin
    found = origin.get("comptoir/v2.0/.well-known/openid-configuration").json()
    assert found["issuer"] == f"{origin.root}/comptoir/v2.0"
    assert found["token_endpoint"] == f"{origin.root}/{TOKEN_PATH}"
    assert origin.root.startswith("https://")


def test_a_certificate_on_the_loopback_address_of_ipv6() -> None:
    settings = Settings(host="::1", port=8443, tls_certificate="a.pem", tls_key="a.key")
    assert settings.listening_url == settings.base_url == "https://[::1]:8443/api"
