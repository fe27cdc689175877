"""Clients authenticate themselves with assertions that they sign (RFC 7523)."""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import httpx
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from joserfc.jwk import ECKey, OKPKey, RSAKey
from msgspec import UNSET

from comptoir.auth.local_authority import Pair
from support.assertions import JSON, PrivateKey, Signer, add_signer, base64url
from support.certificates import write_pair
from support.clients import GRANT, add_client, ask
from support.databases import ON_SQLITE, run_sql
from support.service import Roaming, Service, StartService
from support.together import check_all

ORIGIN = "http://127.0.0.1:8080"


@pytest.fixture(scope="session")
def rsa() -> RSAKey:
    return RSAKey.generate_key(2048)


@pytest.fixture(scope="session")
def keys(rsa: RSAKey) -> Mapping[str, PrivateKey]:
    """A private key for each algorithm."""
    edwards = OKPKey.generate_key("Ed25519")
    return {
        "RS256": rsa,
        "PS256": rsa,
        "ES256": ECKey.generate_key("P-256"),
        "Ed25519": edwards,
        "EdDSA": edwards,
    }


@pytest.fixture(scope="module")
def signer(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Signer:
    """A client of several tests, each of whose requests comes from another address."""
    folder = tmp_path_factory.mktemp("signer")
    return add_signer(Roaming(service), folder, ECKey.generate_key("P-256"))


def error_of(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]


REFUSED = (401, "invalid_client")


@ON_SQLITE
@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "Ed25519", "EdDSA"])
def test_a_client_gets_a_token_by_an_assertion(
    service: Service, keys: Mapping[str, PrivateKey], algorithm: str, tmp_path: Path
) -> None:
    signer = add_signer(service, tmp_path, keys[algorithm])
    response = signer.ask(signer.sign(header={"alg": algorithm, "typ": "JWT"}))
    assert response.status_code == 200, response.text
    token = response.json()["access_token"]
    assert service.client.using(token).get("companies").status_code == 200


@ON_SQLITE
def test_a_longer_key_may_sign(service: Service, tmp_path: Path) -> None:
    """Its size needs not be that of a whole number of bytes."""
    signer = add_signer(service, tmp_path, RSAKey.import_key(generate_private_key(65_537, 3_070)))
    assert signer.ask().status_code == 200
    short = base64url(bytes(256))
    assertion = signer.sign().rpartition(".")[0]
    for signature in (short, base64url(bytes(512)), base64url(bytes(700)), "AA"):
        assert error_of(signer.ask(f"{assertion}.{signature}")) == REFUSED


def test_an_assertion_authenticates_at_each_endpoint(service: Service, signer: Signer) -> None:
    """The id of the client may be left out."""
    form = {**GRANT, **signer.form()}
    del form["client_id"]
    token = ask(service, form).json()["access_token"]
    for endpoint in ("introspect", "revoke"):
        path = f"comptoir/oauth2/v2.0/{endpoint}"
        assert ask(service, {**signer.form(), "token": token}, path=path).status_code == 200
    assert service.client.using(token).get("companies").status_code == 401


@ON_SQLITE
def test_the_audience_is_the_issuer_or_the_token_endpoint(signer: Signer) -> None:
    def check(case: tuple[JSON, int]) -> None:
        audience, status = case
        assert signer.ask(signer.sign(signer.claims(aud=audience))).status_code == status

    check_all(
        [
            (f"{ORIGIN}/comptoir/oauth2/v2.0/token", 200),
            (f"{ORIGIN}/oauth2/v2.0/token", 200),
            (f"{ORIGIN}/comptoir/v2.0", 200),
            (f"{ORIGIN}/comptoir", 200),
            (ORIGIN, 200),
            (["https://other.example", f"{ORIGIN}/comptoir/v2.0"], 200),
            ([], 401),
            (["https://other.example"], 401),
            ("comptoir", 401),
            (f"{ORIGIN}/other/oauth2/v2.0/token", 401),
            (f"{ORIGIN}/comptoir/oauth2/v2.0/token/", 401),
            ("http://localhost:8080/comptoir/v2.0", 401),
            ("", 401),
            (5, 401),
            (None, 401),
            (UNSET, 401),
        ],
        check,
    )


@ON_SQLITE
def test_the_audience_belongs_to_the_tenant_and_the_origin(
    start_service: StartService, tmp_path: Path
) -> None:
    service = start_service(oauth_tenants="one, two")
    signer = add_signer(service, tmp_path, ECKey.generate_key("P-256"))

    def status(tenant: str, audience: str, host: str = "127.0.0.1:8080") -> int:
        form = {**GRANT, **signer.form(signer.sign(signer.claims(aud=audience)))}
        path = f"{tenant}/oauth2/v2.0/token"
        return ask(service, form, {"Host": host}, path=path).status_code

    assert status("one", ORIGIN) == 200
    assert status("two", ORIGIN) == 401
    assert status("two", f"{ORIGIN}/two/v2.0") == 200
    assert status("one", f"{ORIGIN}/two/v2.0") == 401
    assert status("TWO", f"{ORIGIN}/TWO/v2.0") == 200
    other = "http://localhost:8080/one/v2.0"
    assert status("one", other, "localhost:8080") == 200
    assert status("one", other) == 401


def after(seconds: float) -> float:
    return time.time() + seconds


@ON_SQLITE
def test_the_claims_are_checked(signer: Signer) -> None:
    def check(case: tuple[Mapping[str, Callable[[], JSON]], tuple[int, str]]) -> None:
        changed, outcome = case
        claims = signer.claims(**{name: value() for name, value in changed.items()})
        response = signer.ask(signer.sign(claims))
        found = (200, "") if response.status_code == 200 else error_of(response)
        assert found == outcome, response.text

    cases: list[tuple[Mapping[str, Callable[[], JSON]], tuple[int, str]]] = [
        ({"exp": lambda: after(3_600)}, (200, "")),
        ({"exp": lambda: after(30.25)}, (200, "")),
        ({"exp": lambda: int(after(30))}, (200, "")),
        ({"exp": lambda: after(3_600 + 120)}, REFUSED),
        ({"exp": lambda: after(-0.5)}, REFUSED),
        ({"exp": lambda: 0}, REFUSED),
        ({"exp": lambda: after(3_000) * 1_000}, REFUSED),
        ({"exp": lambda: "soon"}, REFUSED),
        ({"exp": lambda: None}, REFUSED),
        ({"exp": lambda: UNSET}, REFUSED),
        ({"nbf": lambda: after(30)}, (200, "")),
        ({"nbf": lambda: after(300)}, REFUSED),
        ({"iss": lambda: "other"}, REFUSED),
        ({"sub": lambda: "other"}, REFUSED),
        ({"iss": lambda: "other", "sub": lambda: "other"}, REFUSED),
        ({"iss": lambda: UNSET}, REFUSED),
        ({"sub": lambda: UNSET}, REFUSED),
        ({"jti": lambda: UNSET}, REFUSED),
        ({"jti": lambda: ""}, REFUSED),
        ({"jti": lambda: 5}, REFUSED),
        ({"jti": lambda: "x" * 255}, (200, "")),
        ({"jti": lambda: "x" * 256}, REFUSED),
        ({"jti": lambda: "\0"}, REFUSED),
        ({"unknown": lambda: {"x": [1]}}, (200, "")),
    ]
    check_all(cases, check)


def shared_secret(signer: Signer, secret: bytes, algorithm: str) -> str:
    """An assertion that is keyed with a secret (RFC 8725, 2.1)."""
    header = base64url(msgspec.json.encode({"alg": algorithm}))
    segments = f"{header}.{base64url(signer.claims())}"
    digest = hmac.new(secret, segments.encode(), algorithm.replace("HS", "sha")).digest()
    return f"{segments}.{base64url(digest)}"


CLAIMS = [b"", b"{}", b"[]", b"5", b"\xff", b'{"iss":"\\ud800"}', b"[" * 9_000]
HEADERS = [
    *(b"", b"{}", b"null", b'"alg"', b'["alg"]', b'["alg","b64"]', b'{"alg":5}', b"\xff"),
    *(b'{"alg":"ES256","typ":5}', b'{"alg":"ES256","kid":5}', b'{"alg":"ES256","b64":false}'),
    b'{"alg":"ES256","x":' + b"[" * 4_000 + b"]" * 4_000 + b"}",
    b'{"alg":"ES256","x":"' + b"x" * 10_000 + b'"}',
]
TOKENS = ["x", ".", "..", "a.b", "a.b.c", "a.b.c.d", "é.b.c", "+.e30.A"]
ALGORITHMS = ["none", "None", "", "HS256", "RS1", "RS512", "ES384", "Ed448"]
CRITICAL: list[JSON] = [["kid"], ["b64"], ["alg", "kid"], ["unknown"], [], "kid", None]
"""Of any form, and also members that are understood (RFC 7515, 4.1.11)."""


def bad_assertions(signer: Signer) -> Iterator[str]:
    """Malformed ones, and those by which some libraries were deceived."""
    yield from TOKENS
    yield from (signer.sign(each) for each in CLAIMS)
    yield from (f"{base64url(each)}.{base64url(signer.claims())}.{'A' * 86}" for each in HEADERS)
    known, payload, own = signer.sign(header={"kid": signer.kid}).split(".")
    bits = bytearray(base64.urlsafe_b64decode(f"{own}=="))
    bits[7] ^= 1
    yield f"{known}.{base64url(signer.claims(scope='admin'))}.{own}"
    yield from (f"{known}.{payload}.{base64url(each)}" for each in (bytes(bits), b"", bytes(64)))
    for each in ALGORITHMS:
        header = base64url(msgspec.json.encode({"alg": each, "kid": signer.kid}))
        yield from (f"{header}.{payload}.{signature}" for signature in ("", own))
    for secret in (
        signer.key.as_pem(private=False),
        msgspec.json.encode(signer.key.as_dict(private=False)),
    ):
        yield from (shared_secret(signer, secret, each) for each in ("HS256", "HS512"))
    for critical in CRITICAL:
        yield signer.sign(header={"crit": critical, "kid": signer.kid, "b64": True})
    # RFC 7797 changes what is signed
    yield signer.sign(header={"crit": ["b64"], "b64": False})


@ON_SQLITE
def test_a_bad_assertion_is_refused(signer: Signer) -> None:
    def check(assertion: str) -> None:
        assert error_of(signer.ask(assertion)) == REFUSED

    check_all(bad_assertions(signer), check)


@ON_SQLITE
@pytest.mark.parametrize(
    ("own", "algorithm"),
    [("ES256", "RS256"), ("ES256", "Ed25519"), ("RS256", "ES256"), ("Ed25519", "ES256")],
)
def test_the_algorithm_must_suit_the_key(
    service: Service, keys: Mapping[str, PrivateKey], own: str, algorithm: str, tmp_path: Path
) -> None:
    """With the signature of another key, and with one of the client's own key."""
    signer = add_signer(service, tmp_path, keys[own])
    header = {"alg": algorithm, "kid": signer.kid}
    assert error_of(signer.ask(signer.sign(header=header, key=keys[algorithm]))) == REFUSED
    _, payload, signature = signer.sign(header={"kid": signer.kid}).split(".")
    changed = base64url(msgspec.json.encode(header))
    assert error_of(signer.ask(f"{changed}.{payload}.{signature}")) == REFUSED


@ON_SQLITE
def test_a_token_of_another_type_is_refused(signer: Signer) -> None:
    def check(case: tuple[str, int]) -> None:
        kind, status = case
        assert signer.ask(signer.sign(header={"typ": kind})).status_code == status

    check_all(
        [
            ("JWT", 200),
            ("jwt", 200),
            ("client-authentication+jwt", 200),
            ("at+jwt", 401),
            ("application/at+jwt", 401),
            ("logout+jwt", 401),
            ("", 401),
        ],
        check,
    )


@ON_SQLITE
@pytest.mark.parametrize("member", ["jwk", "jku", "x5u", "x5c"])
def test_an_assertion_does_not_bring_its_key(signer: Signer, member: str, tmp_path: Path) -> None:
    own = ECKey.generate_key("P-256")
    pair = write_pair(Pair(tmp_path / "own.pem", tmp_path / "own-key.pem"))
    certificate = "".join(pair.certificate.read_text().splitlines()[1:-1])
    brought: JSON = {
        "jwk": {**own.as_dict(private=False), "kid": signer.kid},
        "jku": "https://127.0.0.1:1/keys",
        "x5u": "https://127.0.0.1:1/certificate",
        "x5c": [certificate],
    }[member]
    for header in ({member: brought}, {member: brought, "kid": signer.kid}):
        assert error_of(signer.ask(signer.sign(header=header, key=own))) == REFUSED
        assert signer.ask(signer.sign(header=header)).status_code == 200


def test_the_key_is_found_by_each_name(service: Service, tmp_path: Path) -> None:
    pair = write_pair(Pair(tmp_path / "certificate.pem", tmp_path / "key.pem"))
    key = ECKey.import_key(pair.key.read_bytes())
    signer = add_signer(service, tmp_path, key, file=pair.certificate.read_bytes())
    der = base64.b64decode("".join(pair.certificate.read_text().splitlines()[1:-1]))
    x5t, x5t_s256 = (hashlib.new(name, der).digest() for name in ("sha1", "sha256"))
    for named in (
        {"kid": signer.kid},
        {"x5t": base64url(x5t)},
        {"x5t": base64.urlsafe_b64encode(x5t).decode()},
        {"x5t#S256": base64url(x5t_s256)},
        {"x5t#S256": base64.urlsafe_b64encode(x5t_s256).decode()},
        {"kid": "of-a-library", "x5t": base64url(x5t)},
        {"x5t": base64url(x5t), "x5c": ["A" * 2_800] * 3},
    ):
        response = signer.ask(signer.sign(header=named))
        assert response.status_code == 200, (named, response.text)
    for wrong in ({"kid": "other"}, {"x5t": base64url(x5t_s256)}, {"x5t#S256": "A"}):
        assert error_of(signer.ask(signer.sign(header=wrong))) == REFUSED


def test_each_of_five_keys_works_without_a_name(service: Service, tmp_path: Path) -> None:
    signer = add_signer(service, tmp_path, ECKey.generate_key("P-256"))
    others = [ECKey.generate_key("P-256") for _ in range(4)]
    path = tmp_path / "other.pem"
    for each in others:
        path.write_bytes(each.as_pem(private=False))
        signer.command.done("client", "key", "add", signer.name, path)
    everyone: list[PrivateKey] = [signer.key, *others]
    for own in everyone:
        assert signer.ask(signer.sign(key=own)).status_code == 200


def test_the_key_of_another_client_is_refused(service: Service, tmp_path: Path) -> None:
    signer, other = (add_signer(service, tmp_path, ECKey.generate_key("P-256")) for _ in "ab")
    for header in ({"kid": signer.kid}, {"kid": other.kid}, {}):
        assert error_of(signer.ask(signer.sign(header=header, key=other.key))) == REFUSED


def test_an_ended_or_removed_key_is_refused(service: Service, tmp_path: Path) -> None:
    ended, removed = (add_signer(service, tmp_path, ECKey.generate_key("P-256")) for _ in "ab")
    assert ended.ask().status_code == removed.ask().status_code == 200
    database = service.settings.database
    now = int(time.time())
    run_sql(
        database,
        "UPDATE client_keys SET expires_at = :now WHERE client = :id",
        now=now,
        id=ended.id,
    )
    run_sql(database, "UPDATE control SET version = version + 1")
    removed.command.done("client", "key", "remove", removed.name, "--", removed.kid)
    for signer in (ended, removed):
        assert error_of(signer.ask()) == REFUSED
        assert error_of(signer.ask(signer.sign(header={"kid": signer.kid}))) == REFUSED


@ON_SQLITE
def test_other_credentials_beside_an_assertion_are_refused(
    service: Service, signer: Signer
) -> None:
    several = (400, "invalid_request")
    assert error_of(ask(service, {**GRANT, **signer.form(), "client_secret": "x"})) == several
    basic = {"Authorization": "Basic " + base64.b64encode(b"a:b").decode()}
    assert error_of(ask(service, {**GRANT, **signer.form()}, basic)) == several


@ON_SQLITE
def test_an_assertion_needs_its_type(service: Service, signer: Signer) -> None:
    def check(changed: Mapping[str, str]) -> None:
        assert error_of(ask(service, {**GRANT, **signer.form(), **changed})) == REFUSED

    check_all(
        [
            {"client_assertion_type": ""},
            {"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"},
            {"client_assertion": ""},
        ],
        check,
    )


def test_a_client_without_a_key_has_no_assertions(service: Service, tmp_path: Path) -> None:
    webshop = add_client(service, tmp_path)
    key = ECKey.generate_key("P-256")
    signer = Signer(service, webshop.command, webshop.name, webshop.id, key, "")
    assert error_of(signer.ask()) == REFUSED


@ON_SQLITE
def test_tokens_are_not_assertions(service: Service, signer: Signer) -> None:
    """Neither an access token, nor an ID token that the client's own key signed."""
    for token in (signer.ask().json()["access_token"], service.tokens.issue()):
        assert signer.ask(token).status_code == 401
    identity = signer.claims(iss=f"{ORIGIN}/comptoir/v2.0", aud=signer.id, nonce="x")
    assert error_of(signer.ask(signer.sign(identity, {"typ": "JWT"}))) == REFUSED


@ON_SQLITE
def test_an_assertion_is_not_an_access_token(service: Service, signer: Signer) -> None:
    issuer = f"{ORIGIN}/comptoir/v2.0"
    for claims in (
        signer.claims(scope="records.read"),
        signer.claims(scope="records.read", aud="comptoir", iss=issuer),
        signer.claims(scope="records.read", aud="comptoir", iss="comptoir"),
    ):
        for kind in ("JWT", "at+jwt"):
            assertion = signer.sign(claims, {"typ": kind, "kid": signer.kid})
            assert service.client.using(assertion).get("companies").status_code == 401


def test_unknown_wrong_and_disabled_are_alike(service: Service, tmp_path: Path) -> None:
    wrong, disabled, removed = (
        add_signer(service, tmp_path, ECKey.generate_key("P-256")) for _ in range(3)
    )
    disabled.command.done("client", "disable", disabled.name)
    removed.command.done("client", "remove", removed.name)
    unknown = Signer(service, wrong.command, "", str(uuid4()), wrong.key, "")
    stranger = ECKey.generate_key("P-256")
    refused = [wrong.ask(wrong.sign(key=stranger)), disabled.ask(), removed.ask(), unknown.ask()]
    assert {error_of(each) for each in refused} == {REFUSED}
    assert len({each.json()["error_description"] for each in refused}) == 1
    assert len({tuple(sorted(each.headers.keys())) for each in refused}) == 1
