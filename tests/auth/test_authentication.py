"""Accepted and refused tokens, on a clock that the tests set, and how long they are cached."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from joserfc.jwk import ECKey, OKPKey, RSAKey

from auth.token_forger import AUDIENCE, COMPANY, ISSUER, JSON, NOW, TokenForger, unsigned
from comptoir.auth.authentication import Authenticator
from comptoir.auth.keys import VerificationKey
from comptoir.auth.roles import Principal
from comptoir.auth.tokens import Claims, Scope
from comptoir.auth.verification import (
    CLOCK_SKEW,
    MAX_TOKEN_BYTES,
    PresentedToken,
    TokenVerifier,
    invalid_token,
)
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.errors.table import INVALID_CREDENTIALS
from support.clients import NO_CLIENTS, NO_LIMITS, no_issuers
from support.effort import examples
from support.together import together


class CountingVerifier(TokenVerifier):
    """Counts the tokens that were not cached."""

    def __init__(self, forger: TokenForger) -> None:
        super().__init__(forger.keys.trusted.get, ISSUER, AUDIENCE, clock=forger.clock)
        self.verified = 0

    def verify(self, token: PresentedToken) -> Claims:
        self.verified += 1
        return super().verify(token)


def authenticate(authenticator: Authenticator, authorization: bytes | None) -> Principal:
    return asyncio.run(authenticator.authenticate(authorization))


def bearer(token: str) -> bytes:
    return b"Bearer " + token.encode()


def unauthenticated(authenticator: Authenticator, authorization: bytes | None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        authenticate(authenticator, authorization)
    assert caught.value.error is INVALID_CREDENTIALS
    return caught.value


def refusal_of(verifier: TokenVerifier, token: str) -> str:
    with pytest.raises(Refusal) as caught:
        verifier.verify(PresentedToken(token))
    refusal = caught.value
    assert refusal.error is INVALID_CREDENTIALS
    challenge = refusal.headers["WWW-Authenticate"]
    assert challenge.startswith('Bearer error="invalid_token", error_description="The bearer token')
    assert challenge.count('"') == 4
    assert not any(part in refusal.message for part in token.split(".") if len(part) > 8)
    return refusal.message


@pytest.fixture
def verifier(forger: TokenForger) -> CountingVerifier:
    return CountingVerifier(forger)


@pytest.fixture
def authenticator(verifier: CountingVerifier) -> Authenticator:
    return Authenticator(verifier, NO_CLIENTS, NO_LIMITS, no_issuers())


ACCEPTED: Sequence[tuple[Mapping[str, JSON], Mapping[str, JSON]]] = [
    *(({}, {"typ": typ}) for typ in (None, "JWT", "at+jwt", "application/at+jwt", "AT+JWT")),
    ({}, {"nonce": "n"}),
    ({"aud": ["elsewhere", AUDIENCE]}, {}),
    ({"exp": NOW + 0.5}, {}),
    ({"iat": msgspec.UNSET}, {}),
    ({"iat": NOW + CLOCK_SKEW}, {}),
    ({"nbf": NOW + CLOCK_SKEW}, {}),
    ({"scope": ""}, {}),
    ({"roles": {"unknown": [1]}}, {}),
]
"""Claims and members of the header."""


@together(("claims", "header"), ACCEPTED)
def test_a_token_within_the_rules_is_accepted(
    forger: TokenForger, claims: Mapping[str, JSON], header: Mapping[str, JSON]
) -> None:
    principal = forger.accepted(forger.forge(claims, header))
    assert (principal.subject, principal.companies) == ("tests", None)


def test_an_empty_companies_claim_means_no_company(forger: TokenForger) -> None:
    """Also if its name is escaped."""
    payload = forger.payload(companies=[])
    for each in (payload, payload.replace(b"companies", b"compan\\u0069es")):
        assert forger.accepted(forger.forge(each)).companies == frozenset()


@together("blank", ["\t", "\n", "\r\n", "\f", "\x1f", "\x85", "\xa0", "\u2028"])
def test_only_a_space_separates_scopes(forger: TokenForger, blank: str) -> None:
    """RFC 6749, section 3.3; any other blank is a part of a name that no scope has."""
    joined = f"records.read{blank}records.write"
    token = forger.forge({"scope": f" {joined}  reports.read Admin {blank}"})
    principal = forger.accepted(token)
    assert principal.scopes == {joined, "reports.read", "Admin", blank}
    assert not any(map(principal.may, Scope))


@together(
    ("algorithm", "key"),
    [
        ("RS256", RSAKey.generate_key(2048)),
        ("ES384", ECKey.generate_key("P-384")),
        ("Ed25519", OKPKey.generate_key("Ed25519")),
    ],
)
def test_a_key_may_have_another_configured_algorithm(
    forger: TokenForger, algorithm: str, key: VerificationKey
) -> None:
    token = forger.forge(header={"alg": algorithm, "kid": "theirs"}, key=key)
    verifier = TokenVerifier({"theirs": key}.get, ISSUER, AUDIENCE, (algorithm,), forger.clock)
    assert verifier.verify(PresentedToken(token)).sub == "tests"
    if algorithm != "Ed25519":
        message = refusal_of(
            forger.verifier("ES256", algorithm), forger.forge(header={"alg": algorithm}, key=key)
        )
        assert "does not fit its algorithm" in message


@together("name", ["none", "HS256", "HS512", "EdDSA", "es256", "", "dir"])
def test_only_asymmetric_algorithms_can_be_configured(forger: TokenForger, name: str) -> None:
    with pytest.raises(OperatorError, match="Use one or more of ES256"):
        forger.verifier("ES256", name)


def test_an_algorithm_must_be_configured(forger: TokenForger) -> None:
    with pytest.raises(OperatorError, match="token algorithm"):
        TokenVerifier(forger.keys.trusted.get, ISSUER, AUDIENCE, ())


MALFORMED = "token is malformed"
FOLLOWS = "follows RFC 9068"

MEMBERS: Sequence[tuple[Mapping[str, JSON], str]] = [
    *(({"typ": typ}, "(typ)") for typ in ("dpop+jwt", "logout+jwt", "secevent+jwt", "")),
    ({"crit": ["exp"], "exp": 1}, "(crit)"),
    ({"crit": ["b64"], "b64": True}, "(crit)"),
    ({"crit": ["kid"]}, "(crit)"),
    ({"crit": []}, "(crit)"),
    ({"jku": "file:///etc/passwd"}, MALFORMED),
]
"""Members of a header, and a part of the refusal."""


@together(("members", "problem"), MEMBERS)
def test_a_header_is_refused(
    forger: TokenForger, members: Mapping[str, JSON], problem: str
) -> None:
    header = {"alg": "ES256", "kid": forger.kid, **members}
    token = unsigned(msgspec.json.encode(header), forger.payload(), b"s" * 64)
    assert problem in refusal_of(forger.verifier(), token)


HEADERS = [
    *(b"", b"{}", b"7", b'["alg"]', b'["alg","b64"]', b'"alg"', b'{"alg":"ES256"'),
    *(b'{"alg":["ES256"]}', b'{"alg":{"ES256":1}}', b'{"alg":"ES256","kid":null}'),
    *(b'{"alg":"ES256","kid":7}', b'{"alg":"ES256","typ":7}', b'{"alg":"ES256","crit":7}'),
    *(b'{"alg":"ES256","crit":"b64"}', b'{"alg":"ES256","crit":[["b64"]]}'),
    *(b'{"alg":"ES256","b64":false}', b'{"alg":"ES256","kid":"' + b"k" * 1000 + b'"}'),
    *(b'{"alg":' + b"[" * 370, b'{"alg":' + b"[" * 5000, b"\xff\xfe"),
]
TOKENS = ["", ".", "..", "...", "a.b", "a.b.c", "a.b.c.d.e", "é.é.é", "\ud800", "a b.c.d"]


@together("token", [*TOKENS, *(unsigned(each, b"{}", b"s" * 64) for each in HEADERS)])
def test_a_malformed_token_is_refused(forger: TokenForger, token: str) -> None:
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
    *(("iss", each, ["(iss)", ISSUER]) for each in (ISSUER + "/", ISSUER.upper())),
    *(
        ("aud", each, ["(aud)", AUDIENCE])
        for each in (["elsewhere"], AUDIENCE[:-1], AUDIENCE + "2")
    ),
    ("exp", NOW, ["expired at 2027-01-15T08:00:00Z"]),
    ("nbf", NOW + CLOCK_SKEW + 1, ["not valid before 2027-01-15T08:01:01Z"]),
    ("iat", NOW + CLOCK_SKEW + 1, ["issued in the future"]),
]
"""A claim, a value that is refused, and parts of the refusal."""


@together(("claim", "value", "parts"), CLAIMS)
def test_a_claim_is_refused(
    forger: TokenForger, claim: str, value: JSON, parts: Sequence[str]
) -> None:
    message = refusal_of(forger.verifier(), forger.forge({claim: value}))
    assert [each for each in parts if each not in message] == []


EXPIRY = b'"exp":0'


@together(
    "payload",
    [
        *(b"", b"[]", b"7", b"null", b"{", b'{"sub":"\xff"}', b'{"sub":"\\ud800"}'),
        *(b'{"deep":' + bracket * 5000 for bracket in (b"[", b'{"a":')),
        *(EXPIRY[:-1] + number for number in (b"NaN", b"Infinity", b"-Infinity", b"1e999")),
        EXPIRY[:-1] + b"9" * 400,
    ],
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
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@few
@given(claims=st.dictionaries(claim_names, json_values, max_size=3))
def test_random_claims_return_a_principal_or_a_refusal(
    forger: TokenForger, claims: dict[str, JSON]
) -> None:
    with suppress(Refusal):
        principal = forger.accepted(forger.forge(claims))
        assert isinstance(principal.subject, str)
        assert (principal.companies is None) == ("companies" not in claims)


@few
@given(header=st.binary(max_size=80) | json_values.map(msgspec.json.encode))
def test_an_unsigned_token_with_a_random_header_is_refused(
    forger: TokenForger, header: bytes
) -> None:
    with pytest.raises(Refusal):
        forger.accepted(unsigned(header, forger.payload(), b"s" * 64))


@few
@given(authorization=st.binary() | st.binary().map(lambda rest: b"Bearer " + rest))
def test_a_random_authorization_header_is_refused(
    authenticator: Authenticator, authorization: bytes
) -> None:
    unauthenticated(authenticator, authorization)


@together(
    ("token", "reason"),
    [
        (b"a.b.c d", "malformed"),
        (b"\xc3\xa9.b.c", "non-ASCII"),
        (b"a" * MAX_TOKEN_BYTES, "malformed"),
        (b"a" * (MAX_TOKEN_BYTES + 1), "exceeds the limit of 8192 bytes"),
    ],
)
def test_a_malformed_bearer_token_is_refused(
    authenticator: Authenticator, token: bytes, reason: str
) -> None:
    assert reason in unauthenticated(authenticator, b"Bearer " + token).message


def test_an_expired_token_leaves_the_cache(
    forger: TokenForger, authenticator: Authenticator, verifier: CountingVerifier
) -> None:
    """If the clock is set back, the token is valid again, but is verified again."""
    authorization = bearer(forger.forge({"exp": NOW + 60}))
    first = authenticate(authenticator, authorization)
    for forger.clock.now in (NOW + 30, NOW + 59.999):
        assert authenticate(authenticator, authorization) == first
    assert verifier.verified == 1
    for forger.clock.now in (NOW + 60, NOW + 3600):
        message = unauthenticated(authenticator, authorization).message
        assert "expired at 2027-01-15T08:01:00Z" in message
    forger.clock.now = NOW
    assert authenticate(authenticator, authorization) == first
    assert verifier.verified == 4


def test_a_refusal_is_not_cached(
    forger: TokenForger, authenticator: Authenticator, verifier: CountingVerifier
) -> None:
    authorization = bearer(forger.forge({"nbf": NOW + 600}))
    for _ in range(3):
        unauthenticated(authenticator, authorization)
    assert verifier.verified == 3
    forger.clock.now = NOW + 600
    assert authenticate(authenticator, authorization).subject == "tests"


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


def test_a_description_has_only_characters_that_rfc_6750_allows() -> None:
    row = INVALID_CREDENTIALS.row('for "us"\r\nSet-Cookie: é\\', "Send another.")
    refusal = invalid_token(row)
    assert refusal.headers["WWW-Authenticate"] == (
        """Bearer error="invalid_token", error_description="for 'us'''Set-Cookie: ''. """
        'Send another."'
    )
