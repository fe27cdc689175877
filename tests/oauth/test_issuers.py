"""Tokens of outside issuers: which are accepted, and what their claims give."""

import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import pytest
from joserfc.jwk import RSAKey

from comptoir.auth.local_authority import Pair
from support.certificates import trusted_folder, write_pair
from support.client import Client
from support.clients import add_client
from support.companies import Company
from support.databases import ON_SQLITE, FreshDatabase
from support.issuers import DISCOVERY, KEYS, LOOPBACK, IssuerCommand, OtherIssuer, public
from support.lying_server import OK, with_body
from support.refusals import refusal
from support.repeats import repeatable
from support.service import Service
from support.together import check_all

_numbers = count()

EVERY = ("--company", "*")
SHOP = '[shop]\nitemsExt = "R"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of an authority that the service trusts."""
    with trusted_folder(tmp_path_factory.mktemp("issuers")) as folder:
        yield folder


@pytest.fixture(scope="module")
def trusting(fresh_database: FreshDatabase, folder: Path) -> Iterator[Service]:
    """A service that may reach issuers on the loopback address, and serves two requests at once."""
    with Service(fresh_database, folder, outgoing_allow=LOOPBACK, client_requests=2) as service:
        yield service


@pytest.fixture(scope="module")
def command(trusting: Service, folder: Path) -> IssuerCommand:
    command = IssuerCommand(trusting, folder)
    command.apply_roles(SHOP)
    return command


@pytest.fixture(scope="module")
def shared(command: IssuerCommand, folder: Path) -> Iterator[OtherIssuer]:
    """An issuer that the service trusts, for tests that do not change that."""
    with OtherIssuer(folder) as issuer:
        command.add("shared", issuer.url, *EVERY)
        yield issuer


@pytest.fixture
def issuer(folder: Path) -> Iterator[OtherIssuer]:
    with OtherIssuer(folder) as issuer:
        yield issuer


@pytest.fixture
def other(folder: Path) -> Iterator[OtherIssuer]:
    with OtherIssuer(folder) as issuer:
        yield issuer


@pytest.fixture
def company(trusting: Service) -> Company:
    return trusting.new_company()


def new_name() -> str:
    return f"issuer-{next(_numbers)}"


def problem(client: Client) -> str:
    """The message of a 401."""
    return refusal(client.get("itemsExt"), "Authentication_InvalidCredentials").message


def status(client: Client) -> int:
    return client.get("itemsExt").status_code


def test_a_token_of_an_issuer_is_accepted(
    command: IssuerCommand, issuer: OtherIssuer, company: Company
) -> None:
    joe = company.using(issuer.token({"scope": "openid records.read records.write"}))
    problem(joe)
    assert issuer.asked == []
    name = new_name()
    assert command.add(name, issuer.url, *EVERY).out == f"{name}: added\n"
    assert joe.post("itemAttributesExt", {"name": "Depth"}).status_code == 201
    assert [change.by for change in company.changes()] == [f"{name}:joe"]
    assert status(company.using(issuer.token({"sub": "ann"}))) == 200
    assert issuer.asked == [DISCOVERY, KEYS] * 2

    command.done("remove", name)
    assert "is not accepted" in problem(joe)


def test_the_same_subject_of_two_issuers_is_two_parties(
    command: IssuerCommand, issuer: OtherIssuer, other: OtherIssuer, company: Company
) -> None:
    """In the change log, and where a write is repeated."""
    issuers = {new_name(): each for each in (issuer, other)}
    headers = repeatable()
    for name, each in issuers.items():
        command.add(name, each.url, *EVERY)
        joe = company.using(each.token({"scope": "records.write records.read"}))
        for _ in range(2):
            assert joe.post("itemAttributesExt", {"name": name}, headers).status_code == 201
    assert [change.by for change in company.changes()] == [f"{name}:joe" for name in issuers]


@ON_SQLITE
def test_a_key_of_one_issuer_does_not_serve_another(
    command: IssuerCommand, issuer: OtherIssuer, other: OtherIssuer, company: Company
) -> None:
    """Whether or not they use the same name for their keys."""
    for each in (issuer, other):
        command.add(new_name(), each.url, *EVERY)
        assert status(company.using(each.token())) == 200
    theirs = other.keys[other.kid]
    forged = issuer.token(key=theirs)
    assert "signature is invalid" in problem(company.using(forged))
    named = issuer.token(header={"kid": other.kid}, key=theirs)
    assert "(kid) is not one of its issuer's" in problem(company.using(named))


FOREIGN: Sequence[tuple[Mapping[str, object], Mapping[str, object], str]] = (
    ({"aud": "another"}, {}, "another audience (aud)"),
    ({"aud": None}, {}, "claims are invalid"),
    ({"sub": None}, {}, "claims are invalid"),
    ({"sub": "a\nb"}, {}, "claims are invalid"),
    ({"exp": None}, {}, "claims are invalid"),
    ({"exp": 1}, {}, "expired at 1970-01-01T00:00:01Z (exp)"),
    ({"nbf": 4_000_000_000}, {}, "is not valid before 2096"),
    ({"iat": 4_000_000_000}, {}, "was issued in the future, at 2096"),
    ({"nonce": "n"}, {}, "is an ID token"),
    ({"at_hash": "n"}, {}, "is an ID token"),
    ({"c_hash": "n"}, {}, "is an ID token"),
    ({"s_hash": "n"}, {}, "is an ID token"),
    ({}, {"typ": "logout+jwt"}, "(typ)"),
    ({}, {"alg": "RS384"}, "signed with RS256"),
    ({}, {"kid": "foreign"}, "(kid) is not one of its issuer's"),
)


@ON_SQLITE
def test_a_token_that_is_not_for_the_service_is_refused(
    shared: OtherIssuer, company: Company
) -> None:
    def check(case: tuple[Mapping[str, object], Mapping[str, object], str]) -> None:
        claims, header, part = case
        assert part in problem(company.using(shared.token(claims, header)))

    check_all(FOREIGN, check)


@ON_SQLITE
def test_clocks_may_differ_by_a_minute(shared: OtherIssuer, company: Company) -> None:
    now = int(time.time())
    assert status(company.using(shared.token({"exp": now - 30, "sub": "early"}))) == 200
    assert status(company.using(shared.token({"nbf": now + 30, "iat": now + 30}))) == 200
    assert "expired" in problem(company.using(shared.token({"exp": now - 61})))


MAPPED: Sequence[tuple[tuple[str, ...], Mapping[str, object], int, int]] = (
    ((), {}, 200, 403),
    ((), {"scope": None}, 403, 403),
    ((), {"scope": ["records.read", "records.write", 5]}, 200, 201),
    ((), {"scope": "admin"}, 403, 403),
    ((), {"scope": None, "roles": ["records.read", "admin"]}, 403, 403),
    (("--scope-claim", "scp"), {"scp": "records.write records.read"}, 200, 201),
    (("--scope-claim", "scp"), {}, 403, 403),
    (("--map", "boss=admin"), {"scope": "boss"}, 200, 201),
    (("--map", "boss=admin"), {"roles": ["boss"]}, 200, 201),
    (("--map", "a=b=records.write"), {"roles": "a=b"}, 200, 201),
    (
        ("--roles-claim", "realm_access.roles", "--map", "boss=admin"),
        {"realm_access": {"roles": ["boss"]}},
        200,
        201,
    ),
    (
        ("--roles-claim", "https://a.example/roles", "--map", "boss=admin"),
        {"https://a.example/roles": ["boss"]},
        200,
        201,
    ),
    # the role allows to read items, and not attributes
    (("--map", "shop=shop"), {"roles": ["shop"]}, 403, 403),
    (("--map", "shop=shop"), {}, 403, 403),
    (("--require", "tid=a=b"), {"tid": "a=b"}, 200, 403),
    (("--require", "groups=x"), {"groups": ["y", "x"]}, 200, 403),
    (("--require", "tid=t"), {"tid": "T"}, 401, 401),
    (("--require", "tid=t"), {}, 401, 401),
)


@ON_SQLITE
def test_claims_give_what_they_are_mapped_to(
    command: IssuerCommand, issuer: OtherIssuer, company: Company
) -> None:
    """Other values give nothing, and only a mapped one gives `admin`."""
    name, former = new_name(), tuple[str, ...]()
    command.add(name, issuer.url, *EVERY)

    def check(case: tuple[tuple[str, ...], Mapping[str, object], int, int]) -> None:
        nonlocal former
        options, claims, reads, writes = case
        if options != former:
            command.remove(name)
            command.add(name, issuer.url, *EVERY, *options)
            former = options
        client = company.using(issuer.token(claims))
        assert client.get("itemAttributesExt").status_code == reads
        body = {"name": f"Depth {next(_numbers)}"}
        assert client.post("itemAttributesExt", body).status_code == writes

    check_all(MAPPED, check)


def test_a_mapped_role_restricts(
    command: IssuerCommand, issuer: OtherIssuer, company: Company
) -> None:
    """A value may give a role and a scope; a change of the role binds known tokens."""
    both = ("--map", "shop=shop", "--map", "shop=records.read")
    command.add(new_name(), issuer.url, *EVERY, *both)
    shop = company.using(issuer.token({"roles": ["shop"], "scope": None}))
    assert status(shop) == 200
    assert shop.get("itemAttributesExt").status_code == 403
    assert status(company.using(issuer.token())) == 403

    command.apply_roles('[shop]\nitemAttributesExt = "R"\n')
    assert status(shop) == 403
    assert shop.get("itemAttributesExt").status_code == 200
    command.apply_roles(SHOP)


def test_a_token_reaches_the_companies_of_its_issuer(
    command: IssuerCommand, issuer: OtherIssuer, trusting: Service, company: Company
) -> None:
    elsewhere = trusting.new_company()
    name = new_name()
    assert "can access no company" in command.add(name, issuer.url).err
    token = issuer.token()
    assert status(company.using(token)) == 404
    command.remove(name)
    assert command.add(name, issuer.url, "--company", company.id.upper()).err == ""
    assert status(company.using(token)) == 200
    assert status(elsewhere.using(token)) == 404


def test_a_claim_may_name_the_companies(
    command: IssuerCommand, issuer: OtherIssuer, company: Company
) -> None:
    command.add(new_name(), issuer.url, "--companies-claim", "companies")
    for value, expected in (
        ([company.id.upper()], 200),
        (company.id, 200),
        (["x", "*", 5], 404),
        ("*", 404),
        (None, 404),
    ):
        found = status(company.using(issuer.token({"companies": value})))
        assert found == expected, value
    # values that are not ids of companies list none, and do no harm
    claims = {"companies": ["\0", "", "%", "*", company.id]}
    root = Client(company.carrier, company.root.partition("/companies(")[0], issuer.token(claims))
    assert [each["id"] for each in root.listed("companies")] == [company.id]


@ON_SQLITE
def test_a_party_has_few_requests_at_once(
    command: IssuerCommand, issuer: OtherIssuer, company: Company
) -> None:
    """By all its tokens together."""
    command.add(new_name(), issuer.url, *EVERY)
    both = {"scope": "records.read records.write"}
    subjects = ("joe", "joe", "joe", "ann", "ann")
    clients = [
        company.using(issuer.token({"sub": sub, "jti": f"{number}", **both}))
        for number, sub in enumerate(subjects)
    ]
    assert {status(each) for each in clients} == {200}
    requests = [
        each.build("POST", "itemAttributesExt", body={"name": f"{number}"})
        for number, each in enumerate(clients)
    ]
    statuses = sorted(each.status_code for each in company.carrier.send_all(requests))
    assert statuses == [201, 201, 201, 201, 429]


@ON_SQLITE
def test_a_key_serves_its_algorithm_only(
    command: IssuerCommand, issuer: OtherIssuer, company: Company
) -> None:
    issuer.lie(KEYS, {"keys": [{**public(issuer.kid, issuer.keys[issuer.kid]), "alg": "PS256"}]})
    command.add(new_name(), issuer.url, *EVERY, "--algorithms", "RS256,PS256")
    assert "does not fit its algorithm" in problem(company.using(issuer.token()))
    assert status(company.using(issuer.token(header={"alg": "PS256"}))) == 200


def test_its_tokens_are_revoked_by_their_issuer_only(
    trusting: Service, command: IssuerCommand, issuer: OtherIssuer, company: Company, folder: Path
) -> None:
    """Another issuer may give a token the same id."""
    command.add(new_name(), issuer.url, *EVERY)
    admin = add_client(trusting, folder, scope="admin")
    token = issuer.token({"jti": "1"})
    assert status(company.using(token)) == 200
    assert admin.send("revoke", token).status_code == 200
    assert admin.send("introspect", token).json() == {"active": False}
    assert status(company.using(token)) == 200


def test_a_withdrawn_key_is_not_trusted_after_a_refresh(
    command: IssuerCommand, issuer: OtherIssuer, company: Company
) -> None:
    name = new_name()
    command.add(name, issuer.url, *EVERY)
    former = company.using(issuer.token())
    assert status(former) == 200
    issuer.rotate()
    assert status(former) == 200
    assert command.done("refresh", name) == f"{name}: refreshed\n"
    assert "(kid) is not one of its issuer's" in problem(former)
    assert status(company.using(issuer.token())) == 200


def small() -> dict[str, object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return public("small", RSAKey.generate_key(1024))


def claiming(**members: object) -> Callable[[OtherIssuer], None]:
    """A discovery document with some members changed."""
    return lambda issuer: issuer.lie(DISCOVERY, issuer.discovery(**members))


def with_keys(*keys: object) -> Callable[[OtherIssuer], None]:
    return lambda issuer: issuer.lie(KEYS, {"keys": keys})


def sending(path: str, body: bytes, head: bytes = OK) -> Callable[[OtherIssuer], None]:
    return lambda issuer: issuer.lies.update({path: with_body(body, head)})


def of_itself(**members: object) -> Callable[[OtherIssuer], None]:
    """The issuer's key, with further members."""
    return lambda issuer: issuer.lie(
        KEYS, {"keys": [{**public("a", issuer.keys[issuer.kid]), **members}]}
    )


BROKEN_KEYS: Sequence[object] = (
    5,
    {"kid": "a"},
    {"kid": "a", "kty": "oct", "k": "c2VjcmV0"},
    {"kid": "a", "kty": "RSA", "n": "!!", "e": "AQAB"},
    {"kid": "a", "kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"},
    {"kid": "a", "kty": "EC", "crv": "P-999", "x": "AAAA", "y": "AAAA"},
    {"kid": "a", "kty": "OKP", "crv": "X25519", "x": "A" * 43},
)
REDIRECT = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
LIES: Mapping[str, tuple[Callable[[OtherIssuer], None], str]] = {
    "another issuer": (
        claiming(issuer="https://a.example"),
        "is the document of the issuer 'https://a.example'",
    ),
    "a slash": (
        lambda issuer: claiming(issuer=f"{issuer.url}/")(issuer),
        "is the document of the issuer",
    ),
    "keys inside the network": (
        claiming(jwks_uri="https://10.0.0.1/keys"),
        "10.0.0.1 is not a global address",
    ),
    "keys without TLS": (
        claiming(jwks_uri="http://127.0.0.1/keys"),
        "does not start with https://",
    ),
    "keys in a file": (claiming(jwks_uri="file:///etc/passwd"), "does not start with https://"),
    "a redirect": (sending(KEYS, b"", REDIRECT), "responded with status 302"),
    "no JSON": (sending(DISCOVERY, b"<html>"), "is not the document of an issuer"),
    "deep JSON": (sending(KEYS, b'{"keys":' + b"[" * 100_000), "is not the document of an issuer"),
    "no keys": (with_keys(), "has no key for signatures"),
    "a small key": (with_keys(small()), "has no key for signatures of a sufficient size"),
    "broken keys": (with_keys(*BROKEN_KEYS), "has no key for signatures"),
    "a key for encryption": (of_itself(use="enc"), "has no key for signatures"),
    "a key to encrypt": (of_itself(key_ops=["encrypt"]), "has no key for signatures"),
    "101 keys": (with_keys(*[{"kty": "oct"}] * 101), "has more than 100 keys"),
    "a huge document": (
        sending(DISCOVERY, b" " * 262_145),
        "responded with more than 262144 bytes",
    ),
    "away": (lambda issuer: issuer.stop(), "cannot be reached"),
}


@ON_SQLITE
@pytest.mark.parametrize("lie", LIES)
def test_an_issuer_that_lies_is_not_added(
    command: IssuerCommand,
    issuer: OtherIssuer,
    company: Company,
    lie: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If it is added unchecked, its tokens get 503, the log says why, and others are served."""
    begin, part = LIES[lie]
    begin(issuer)
    name = new_name()
    error = command.error(name, issuer.url, *EVERY)
    assert part in error
    assert name not in [line.split()[0] for line in command.done("list").splitlines()]
    command.add(name, issuer.url, *EVERY, "--unchecked")
    asked = len(issuer.asked)
    for sub in ("joe", "ann"):
        response = company.using(issuer.token({"sub": sub})).get("itemsExt")
        refusal(response, "Internal_IssuerUnreachable", "Authorization")
        assert 1 <= int(response.headers["Retry-After"]) <= 30
    assert len(issuer.asked) - asked <= 2
    begins = f"the keys of the issuer {issuer.url} were not fetched: "
    logged = [each.getMessage() for each in caplog.records]
    (reason,) = [each.removeprefix(begins) for each in logged if each.startswith(begins)]
    assert part in reason
    assert "/elsewhere" not in issuer.asked
    assert status(company) == 200


@ON_SQLITE
def test_an_untrusted_certificate(command: IssuerCommand, company: Company, tmp_path: Path) -> None:
    with OtherIssuer(tmp_path) as stranger:
        assert "certificate verify failed" in command.error(new_name(), stranger.url, *EVERY)
        command.add(new_name(), stranger.url, *EVERY, "--unchecked")
        client = company.using(stranger.token())
        refusal(client.get("itemsExt"), "Internal_IssuerUnreachable")
        assert stranger.asked == []


CERTIFICATES: Mapping[str, Callable[[Pair, Pair], Pair]] = {
    "signed by itself": lambda pair, _: write_pair(pair),
    "expired": lambda pair, issuer: write_pair(pair, -9, -1, issuer=issuer),
    "not valid yet": lambda pair, issuer: write_pair(pair, 1, 9, issuer=issuer),
    # the authority may certify it
    "of another name": lambda pair, issuer: write_pair(pair, name="a.localhost", issuer=issuer),
}


@ON_SQLITE
@pytest.mark.parametrize("error", CERTIFICATES)
def test_a_bad_certificate_of_a_trusted_issuer(
    command: IssuerCommand, issuer: OtherIssuer, company: Company, tmp_path: Path, error: str
) -> None:
    """Its new keys are not fetched, and those that were fetched before remain in use."""
    name = new_name()
    command.add(name, issuer.url, *EVERY)
    former = company.using(issuer.token())
    assert status(former) == 200
    asked = len(issuer.asked)
    issuer.rotate()
    pair = Pair(tmp_path / "bad.pem", tmp_path / "bad.key")
    issuer.present(CERTIFICATES[error](pair, issuer.local.authority))
    assert "(kid) is not one of its issuer's" in problem(company.using(issuer.token()))
    assert status(former) == 200
    command.done("remove", name)
    assert "certificate verify failed" in command.error(name, issuer.url, *EVERY)
    assert len(issuer.asked) == asked


@ON_SQLITE
def test_waiting_requests_share_one_fetch(
    command: IssuerCommand, issuer: OtherIssuer, trusting: Service, company: Company
) -> None:
    """A client that disconnects does not end it, and others are served beside it."""
    command.add(new_name(), issuer.url, *EVERY)
    asked = len(issuer.asked)
    issuer.gate.clear()
    requests = [
        company.using(issuer.token({"sub": f"{number}"})).build("GET", "itemsExt")
        for number in range(5)
    ]
    trusting.abandon(requests[0], 100)
    assert status(company) == 200
    issuer.gate.set()
    assert {each.status_code for each in trusting.send_all(requests)} == {200}
    assert len(issuer.asked) - asked == 2


@ON_SQLITE
def test_fetches_of_keys_are_counted(
    command: IssuerCommand, issuer: OtherIssuer, trusting: Service, company: Company
) -> None:
    def counted() -> list[tuple[str, str]]:
        series = rf'^comptoir_issuer_fetches_total{{issuer="{issuer.url}",outcome="(.*)"}} (.*)$'
        return re.findall(series, trusting.origin.get("metrics").text, re.MULTILINE)

    command.add(new_name(), issuer.url, *EVERY)
    assert counted() == []
    assert status(company.using(issuer.token())) == 200
    assert counted() == [("success", "1.0")]
    issuer.stop()
    issuer.rotate()
    assert status(company.using(issuer.token())) == 401
    assert sorted(counted()) == [("failed", "1.0"), ("success", "1.0")]
