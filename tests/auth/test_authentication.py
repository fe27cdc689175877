"""Accepted and refused tokens, and the permissions of their principals."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from auth.token_forger import AUDIENCE, COMPANY, ISSUER, JSON, NOW, TokenForger, unsigned
from comptoir.auth.authentication import Authenticator
from comptoir.auth.roles import Principal
from comptoir.auth.tokens import Scope
from comptoir.auth.verification import (
    CLOCK_SKEW,
    MAX_TOKEN_BYTES,
    PresentedToken,
    TokenVerifier,
    VerifiedToken,
    invalid_token,
)
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.errors.table import INVALID_CREDENTIALS
from support.clients import NO_CLIENTS, NO_LIMITS, no_issuers
from support.effort import examples

HOUR = timedelta(hours=1)
HERE = "9a0cf0f2-56ab-4f0c-8d6e-1d2b1c5b7e11"
THERE = "9a0cf0f2-56ab-4f0c-8d6e-1d2b1c5b7e12"


def refusal_of(verifier: TokenVerifier, token: str) -> str:
    with pytest.raises(Refusal) as caught:
        verifier.verify(token)
    refusal = caught.value
    assert refusal.error is INVALID_CREDENTIALS
    challenge = refusal.headers["WWW-Authenticate"]
    assert challenge.startswith('Bearer error="invalid_token", error_description="The bearer token')
    assert challenge.count('"') == 4
    assert not any(part in refusal.message for part in token.split(".") if len(part) > 8)
    return refusal.message


class TestAccepted:
    def test_an_issued_token_is_verified_to_its_principal(self, forger: TokenForger) -> None:
        token = forger.issuer.issue("tests", [Scope.ADMIN], [COMPANY.upper()], HOUR)
        assert forger.verifier().verify(token).principal == Principal(
            "tests", frozenset({"admin"}), frozenset({COMPANY})
        )

    def test_no_companies_claim_means_every_company(self, forger: TokenForger) -> None:
        assert forger.verifier().verify(forger.forge()).principal.companies is None

    def test_an_empty_companies_claim_means_no_company(self, forger: TokenForger) -> None:
        assert (
            forger.verifier().verify(forger.forge({"companies": []})).principal.companies
            == frozenset()
        )

    def test_an_escaped_claim_name_is_the_same_claim(self, forger: TokenForger) -> None:
        payload = forger.payload(companies=[]).replace(b"companies", b"compan\\u0069es")
        assert forger.verifier().verify(forger.forge(payload)).principal.companies == frozenset()

    @pytest.mark.parametrize("typ", [None, "JWT", "at+jwt", "application/at+jwt", "AT+JWT"])
    def test_usual_token_types_are_accepted(self, forger: TokenForger, typ: str | None) -> None:
        assert (
            forger.verifier().verify(forger.forge(header={"typ": typ})).principal.subject == "tests"
        )

    @pytest.mark.parametrize(
        "claims",
        [
            {"aud": ["elsewhere", AUDIENCE]},
            {"exp": NOW + 0.5},
            {"iat": msgspec.UNSET},
            {"iat": NOW + CLOCK_SKEW},
            {"nbf": NOW + CLOCK_SKEW},
            {"scope": ""},
            {"roles": {"unknown": [1]}},
        ],
        ids=str,
    )
    def test_claims_within_the_rules_are_accepted(
        self, forger: TokenForger, claims: dict[str, JSON]
    ) -> None:
        assert forger.verifier().verify(forger.forge(claims)).principal.subject == "tests"

    @pytest.mark.parametrize("blank", ["\t", "\n", "\r\n", "\f", "\x1f", "\x85", "\xa0", "\u2028"])
    def test_only_a_space_separates_scopes(self, forger: TokenForger, blank: str) -> None:
        """RFC 6749, section 3.3; any other blank is a part of a name that no scope has."""
        joined = f"records.read{blank}records.write"
        token = forger.forge({"scope": f" {joined}  reports.read {blank}"})
        principal = forger.verifier().verify(token).principal
        assert principal.scopes == {joined, "reports.read", blank}

    def test_unknown_header_members_are_ignored(self, forger: TokenForger) -> None:
        assert (
            forger.verifier().verify(forger.forge(header={"nonce": "n"})).principal.subject
            == "tests"
        )

    @pytest.mark.parametrize(
        ("algorithm", "key"),
        [
            ("RS256", RSAKey.generate_key(2048)),
            ("ES384", ECKey.generate_key("P-384")),
            ("Ed25519", OKPKey.generate_key("Ed25519")),
        ],
        ids=["RS256", "ES384", "Ed25519"],
    )
    def test_a_foreign_issuer_may_use_another_configured_algorithm(
        self, forger: TokenForger, algorithm: str, key: RSAKey | ECKey | OKPKey
    ) -> None:
        token = forger.forge(header={"alg": algorithm, "kid": "theirs"}, key=key)
        verifier = TokenVerifier({"theirs": key}.get, ISSUER, AUDIENCE, (algorithm,), forger.clock)
        assert verifier.verify(token).principal.subject == "tests"


class TestAlgorithms:
    @pytest.mark.parametrize("name", ["none", "HS256", "HS512", "EdDSA", "es256", "", "dir"])
    def test_only_asymmetric_algorithms_can_be_configured(
        self, forger: TokenForger, name: str
    ) -> None:
        with pytest.raises(OperatorError, match="Use one or more of ES256"):
            forger.verifier("ES256", name)

    def test_an_algorithm_must_be_configured(self, forger: TokenForger) -> None:
        with pytest.raises(OperatorError, match="token algorithm"):
            TokenVerifier(forger.keys.trusted.get, ISSUER, AUDIENCE, ())

    @pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
    @pytest.mark.parametrize("algorithms", [("ES256",), ("ES256", "RS256")])
    def test_the_public_key_as_a_shared_secret_is_refused(
        self, forger: TokenForger, algorithms: tuple[str, ...]
    ) -> None:
        """RFC 8725 section 2.1: HS256, keyed with the bytes of the public key."""
        secret = OctKey.import_key(base64.b64encode(forger.keys.signing.as_der()))
        token = forger.forge(header={"alg": "HS256"}, key=secret)
        assert "(alg) is not accepted" in refusal_of(forger.verifier(*algorithms), token)

    @pytest.mark.parametrize("key", [ECKey.generate_key("P-384"), RSAKey.generate_key(2048)])
    def test_a_key_of_another_type_than_the_algorithm_is_refused(
        self, forger: TokenForger, key: ECKey | RSAKey
    ) -> None:
        algorithm = "ES384" if isinstance(key, ECKey) else "RS256"
        token = forger.forge(header={"alg": algorithm}, key=key)
        message = refusal_of(forger.verifier("ES256", algorithm), token)
        assert "does not fit its algorithm" in message


MALFORMED = "token is malformed"
FOLLOWS = "follows RFC 9068"

HEADERS: Sequence[tuple[Mapping[str, JSON], str]] = [
    *(({"typ": typ}, "(typ)") for typ in ("dpop+jwt", "logout+jwt", "secevent+jwt", "")),
    ({"crit": ["exp"], "exp": 1}, "(crit)"),
    ({"crit": ["b64"], "b64": True}, "(crit)"),
    ({"crit": ["kid"]}, "(crit)"),
    ({"crit": []}, "(crit)"),
    ({"jku": "file:///etc/passwd"}, MALFORMED),
]
"""Members of a header, and a part of the refusal."""


@pytest.mark.parametrize(("members", "problem"), HEADERS, ids=str)
def test_a_header_is_refused(
    forger: TokenForger, members: Mapping[str, JSON], problem: str
) -> None:
    header = {"alg": "ES256", "kid": forger.kid, **members}
    token = unsigned(msgspec.json.encode(header), forger.payload(), b"s" * 64)
    assert problem in refusal_of(forger.verifier(), token)


@pytest.mark.parametrize(
    "header",
    [
        *(b"", b"{}", b"7", b'["alg"]', b'["alg","b64"]', b'"alg"', b'{"alg":"ES256"'),
        *(b'{"alg":["ES256"]}', b'{"alg":{"ES256":1}}', b'{"alg":"ES256","kid":null}'),
        *(b'{"alg":"ES256","kid":7}', b'{"alg":"ES256","typ":7}', b'{"alg":"ES256","crit":7}'),
        *(b'{"alg":"ES256","crit":"b64"}', b'{"alg":"ES256","crit":[["b64"]]}'),
        *(b'{"alg":"ES256","b64":false}', b'{"alg":"ES256","kid":"' + b"k" * 1000 + b'"}'),
        *(b'{"alg":' + b"[" * 370, b'{"alg":' + b"[" * 5000, b"\xff\xfe"),
    ],
    ids=lambda header: header[:30].decode("latin-1"),
)
def test_a_malformed_header_is_refused(forger: TokenForger, header: bytes) -> None:
    token = unsigned(header, forger.payload(), b"s" * 64)
    assert MALFORMED in refusal_of(forger.verifier(), token)


@pytest.mark.parametrize(
    "token", ["", ".", "..", "...", "a.b", "a.b.c", "a.b.c.d.e", "é.é.é", "\ud800", "a b.c.d"]
)
def test_a_token_that_is_not_in_compact_form_is_refused(forger: TokenForger, token: str) -> None:
    assert MALFORMED in refusal_of(forger.verifier(), token)


WRONG_TYPES: Sequence[tuple[str, JSON]] = [
    *(("iss", None), ("aud", None), ("aud", 7), ("aud", [7]), ("aud", {AUDIENCE: 1})),
    *(("sub", 7), ("sub", ""), ("sub", "a\nb"), ("sub", "a\x00"), ("sub", "x" * 256)),
    *(("exp", None), ("exp", True), ("exp", "1900000000"), ("exp", -1), ("exp", NOW * 1000)),
    *(("iat", "1"), ("iat", None), ("nbf", False), ("jti", 7)),
    *(("scope", ["records.read"]), ("scope", None)),
    *(("companies", None), ("companies", COMPANY), ("companies", {COMPANY: True})),
    *(("companies", [None]), ("companies", [COMPANY, "CRONUS"]), ("companies", [COMPANY + "\n"])),
]

CLAIMS: Sequence[tuple[str, JSON, Sequence[str]]] = [
    *((claim, msgspec.UNSET, [f"`{claim}`"]) for claim in ("iss", "aud", "sub", "exp", "scope")),
    *((claim, value, [FOLLOWS, claim]) for claim, value in WRONG_TYPES),
    *(("iss", each, ["(iss)", ISSUER]) for each in ("", ISSUER + "/", ISSUER.upper())),
    *(("aud", each, ["(aud)", AUDIENCE]) for each in ("", [], ["elsewhere"], AUDIENCE[:-1])),
    ("aud", AUDIENCE + "2", ["(aud)", AUDIENCE]),
    ("exp", NOW, ["expired at 2027-01-15T08:00:00Z"]),
    ("exp", NOW - 1, ["expired at 2027-01-15T07:59:59Z"]),
    ("exp", 0, ["expired at 1970"]),
    ("nbf", NOW + CLOCK_SKEW + 1, ["not valid before 2027-01-15T08:01:01Z"]),
    ("iat", NOW + CLOCK_SKEW + 1, ["issued in the future"]),
]
"""A claim, a value that is refused, and parts of the refusal."""


@pytest.mark.parametrize(("claim", "value", "parts"), CLAIMS, ids=repr)
def test_a_claim_is_refused(
    forger: TokenForger, claim: str, value: JSON, parts: Sequence[str]
) -> None:
    message = refusal_of(forger.verifier(), forger.forge({claim: value}))
    assert [each for each in parts if each not in message] == []


EXPIRY = b'"exp":0'


@pytest.mark.parametrize(
    "payload",
    [
        *(b"", b"[]", b"7", b"null", b"{", b'{"sub":"\xff"}', b'{"sub":"\\ud800"}'),
        *(b'{"deep":' + bracket * 5000 for bracket in (b"[", b'{"a":')),
        *(EXPIRY[:-1] + number for number in (b"NaN", b"Infinity", b"-Infinity", b"1e999")),
        EXPIRY[:-1] + b"9" * 400,
    ],
    ids=lambda payload: payload[:20].decode("latin-1"),
)
def test_claims_that_are_not_an_object_or_have_no_finite_expiry_are_refused(
    forger: TokenForger, payload: bytes
) -> None:
    if payload.startswith(EXPIRY[:-1]):
        payload = forger.payload(exp=0).replace(EXPIRY, payload)
    assert FOLLOWS in refusal_of(forger.verifier(), forger.forge(payload))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**62)
    | st.floats(allow_nan=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
claim_names = st.sampled_from(
    ["iss", "aud", "sub", "exp", "iat", "nbf", "jti", "scope", "companies"]
)
few = settings(
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@few
@given(claims=st.dictionaries(claim_names, json_values, max_size=3))
def test_random_claims_return_a_principal_or_a_refusal(
    forger: TokenForger, claims: dict[str, JSON]
) -> None:
    with suppress(Refusal):
        principal = forger.verifier().verify(forger.forge(claims)).principal
        assert isinstance(principal.subject, str)
        assert (principal.companies is None) == ("companies" not in claims)


@few
@given(header=st.binary(max_size=80) | json_values.map(msgspec.json.encode))
def test_an_unsigned_token_with_a_random_header_is_refused(
    forger: TokenForger, header: bytes
) -> None:
    with pytest.raises(Refusal):
        forger.verifier().verify(unsigned(header, forger.payload(), b"s" * 64))


class CountingVerifier(TokenVerifier):
    """Counts the tokens that were not cached."""

    def __init__(self, forger: TokenForger) -> None:
        super().__init__(forger.keys.trusted.get, ISSUER, AUDIENCE, clock=forger.clock)
        self.verified = 0

    def verify_presented(self, token: PresentedToken) -> VerifiedToken:
        self.verified += 1
        return super().verify_presented(token)


def authenticate(authenticator: Authenticator, authorization: bytes | None) -> Principal:
    return asyncio.run(authenticator.authenticate(authorization))


def bearer(token: str) -> bytes:
    return b"Bearer " + token.encode()


def unauthenticated(authenticator: Authenticator, authorization: bytes | None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        authenticate(authenticator, authorization)
    assert caught.value.error is INVALID_CREDENTIALS
    return caught.value


@pytest.fixture
def verifier(forger: TokenForger) -> CountingVerifier:
    return CountingVerifier(forger)


@pytest.fixture
def authenticator(verifier: CountingVerifier) -> Authenticator:
    return Authenticator(verifier, NO_CLIENTS, NO_LIMITS, no_issuers())


@pytest.mark.parametrize("scheme", [b"Bearer ", b"bearer ", b"BEARER ", b"Bearer   "])
def test_the_scheme_is_read_in_any_case(
    forger: TokenForger, authenticator: Authenticator, scheme: bytes
) -> None:
    authorization = scheme + forger.forge().encode()
    assert authenticate(authenticator, authorization).subject == "tests"


@pytest.mark.parametrize(
    "authorization", [None, b"", b" ", b"Basic dXNlcjpzZWNyZXQ=", b"Bearertoken", b"Bearer\ttoken"]
)
def test_a_request_without_a_bearer_token_gets_a_bare_challenge(
    authenticator: Authenticator, authorization: bytes | None
) -> None:
    refusal = unauthenticated(authenticator, authorization)
    assert refusal.headers == {"WWW-Authenticate": 'Bearer realm="comptoir"'}
    assert "dXNlcjpzZWNyZXQ" not in refusal.message


@pytest.mark.parametrize(
    ("authorization", "reason"),
    [
        (b"Bearer", "malformed"),
        (b"Bearer ", "malformed"),
        (b"Bearer token", "malformed"),
        (b"Bearer a.b.c d", "malformed"),
        (b"Bearer \xc3\xa9.b.c", "non-ASCII"),
        (b"Bearer " + b"a" * MAX_TOKEN_BYTES, "malformed"),
        (b"Bearer " + b"a" * (MAX_TOKEN_BYTES + 1), "exceeds the limit of 8192 bytes"),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else value,
)
def test_a_malformed_bearer_token_is_refused(
    authenticator: Authenticator, authorization: bytes, reason: str
) -> None:
    refusal = unauthenticated(authenticator, authorization)
    assert reason in refusal.message
    assert 'error="invalid_token"' in refusal.headers["WWW-Authenticate"]


def test_a_token_is_verified_once_and_then_cached(
    forger: TokenForger, authenticator: Authenticator, verifier: CountingVerifier
) -> None:
    authorization = bearer(forger.forge())
    first = authenticate(authenticator, authorization)
    assert authenticate(authenticator, authorization) == first
    assert verifier.verified == 1


def test_a_cached_token_expires(forger: TokenForger, authenticator: Authenticator) -> None:
    authorization = bearer(forger.forge({"exp": NOW + 60}))
    for forger.clock.now in (NOW, NOW + 30, NOW + 59.999):
        assert authenticate(authenticator, authorization).subject == "tests"
    for forger.clock.now in (NOW + 60, NOW + 3600):
        assert (
            "expired at 2027-01-15T08:01:00Z"
            in unauthenticated(authenticator, authorization).message
        )


def test_an_expired_token_leaves_the_cache(
    forger: TokenForger, authenticator: Authenticator, verifier: CountingVerifier
) -> None:
    """If the clock is set back, the token is valid again, but is verified again."""
    authorization = bearer(forger.forge({"exp": NOW + 60}))
    authenticate(authenticator, authorization)
    forger.clock.now = NOW + 60
    unauthenticated(authenticator, authorization)
    forger.clock.now = NOW
    authenticate(authenticator, authorization)
    assert verifier.verified == 3


def test_a_refusal_is_not_cached(forger: TokenForger, authenticator: Authenticator) -> None:
    authorization = bearer(forger.forge({"nbf": NOW + 600}))
    unauthenticated(authenticator, authorization)
    forger.clock.now = NOW + 600
    assert authenticate(authenticator, authorization).subject == "tests"


def test_a_refused_token_is_refused_every_time(
    forger: TokenForger, authenticator: Authenticator, verifier: CountingVerifier
) -> None:
    authorization = bearer(forger.forge({"aud": "elsewhere"}))
    for _ in range(3):
        unauthenticated(authenticator, authorization)
    assert verifier.verified == 3


def test_a_cached_token_does_not_authenticate_another_token(
    forger: TokenForger, authenticator: Authenticator
) -> None:
    one, other = (bearer(forger.forge({"sub": name})) for name in ("one", "other"))
    assert authenticate(authenticator, one).subject == "one"
    assert authenticate(authenticator, other).subject == "other"
    unauthenticated(authenticator, one[:-4] + b"AAAA")


def test_the_cache_drops_the_least_recently_used_token(
    forger: TokenForger, verifier: CountingVerifier
) -> None:
    authenticator = Authenticator(verifier, NO_CLIENTS, NO_LIMITS, no_issuers(), capacity=2)
    kept, dropped, new = (bearer(forger.forge({"sub": name})) for name in "abc")
    for authorization in (kept, dropped, kept, new):
        authenticate(authenticator, authorization)
    assert verifier.verified == 3
    authenticate(authenticator, kept)
    assert verifier.verified == 3
    authenticate(authenticator, dropped)
    assert verifier.verified == 4


@settings(
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(authorization=st.binary() | st.binary().map(lambda rest: b"Bearer " + rest))
def test_a_random_authorization_header_is_refused(
    authenticator: Authenticator, authorization: bytes
) -> None:
    unauthenticated(authenticator, authorization)


def test_a_description_has_only_characters_that_rfc_6750_allows() -> None:
    row = INVALID_CREDENTIALS.row('for "us"\r\nSet-Cookie: é\\', "Send another.")
    refusal = invalid_token(row)
    assert refusal.headers["WWW-Authenticate"] == (
        """Bearer error="invalid_token", error_description="for 'us'''Set-Cookie: ''. """
        'Send another."'
    )


def holding(*scopes: str) -> Principal:
    return Principal("tests", frozenset(scopes), None)


@pytest.mark.parametrize(
    ("held", "allowed"),
    [
        ((), set()),
        (("records.read",), {Scope.RECORDS_READ}),
        (("records.write",), {Scope.RECORDS_WRITE}),
        (("admin",), set(Scope)),
        (("records.read", "records.write"), {Scope.RECORDS_READ, Scope.RECORDS_WRITE}),
        (("records", "records.reader", "Admin", "openid"), set()),
    ],
)
def test_scopes_allow_what_they_name_and_admin_everything(
    held: tuple[str, ...], allowed: set[Scope]
) -> None:
    assert {scope for scope in Scope if holding(*held).may(scope)} == allowed


def test_companies_that_a_principal_reaches() -> None:
    def reached(companies: frozenset[str] | None) -> list[str]:
        principal = Principal("tests", frozenset(), companies)
        return [company for company in (HERE, THERE) if principal.reaches(company)]

    assert reached(None) == [HERE, THERE]
    assert reached(frozenset({HERE})) == [HERE]
    assert reached(frozenset()) == []
