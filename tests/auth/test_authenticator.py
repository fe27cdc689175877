import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auth.token_forger import AUDIENCE, ISSUER, NOW, TokenForger
from comptoir.auth import Authenticator, TokenVerifier, VerifiedToken
from comptoir.auth.authenticator import MAX_TOKEN_BYTES
from comptoir.errors import INVALID_CREDENTIALS, Refusal
from support.effort import examples


class CountingVerifier(TokenVerifier):
    """Counts the tokens that were verified and not taken from the cache."""

    def __init__(self, forger: TokenForger) -> None:
        super().__init__(forger.keys.trusted, ISSUER, AUDIENCE, clock=forger.clock)
        self.verified = 0

    def verify(self, token: str) -> VerifiedToken:
        self.verified += 1
        return super().verify(token)


def bearer(token: str) -> bytes:
    return b"Bearer " + token.encode()


def refusal_of(authenticator: Authenticator, authorization: bytes | None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        authenticator.authenticate(authorization)
    assert caught.value.error is INVALID_CREDENTIALS
    return caught.value


@pytest.fixture
def verifier(forger: TokenForger) -> CountingVerifier:
    return CountingVerifier(forger)


@pytest.fixture
def authenticator(verifier: CountingVerifier) -> Authenticator:
    return Authenticator(verifier)


@pytest.mark.parametrize("scheme", [b"Bearer ", b"bearer ", b"BEARER ", b"Bearer   "])
def test_the_scheme_is_read_in_any_case(
    forger: TokenForger, authenticator: Authenticator, scheme: bytes
) -> None:
    authorization = scheme + forger.forge().encode()
    assert authenticator.authenticate(authorization).subject == "tests"


@pytest.mark.parametrize(
    "authorization", [None, b"", b" ", b"Basic dXNlcjpzZWNyZXQ=", b"Bearertoken", b"Bearer\ttoken"]
)
def test_a_request_without_a_bearer_token_gets_a_bare_challenge(
    authenticator: Authenticator, authorization: bytes | None
) -> None:
    refusal = refusal_of(authenticator, authorization)
    assert refusal.headers == {"WWW-Authenticate": 'Bearer realm="comptoir"'}
    assert "dXNlcjpzZWNyZXQ" not in refusal.message


@pytest.mark.parametrize(
    ("authorization", "reason"),
    [
        (b"Bearer", "garbled"),
        (b"Bearer ", "garbled"),
        (b"Bearer token", "garbled"),
        (b"Bearer a.b.c d", "garbled"),
        (b"Bearer \xc3\xa9.b.c", "ASCII"),
        (b"Bearer " + b"a" * MAX_TOKEN_BYTES, "garbled"),
        (b"Bearer " + b"a" * (MAX_TOKEN_BYTES + 1), "longer than 8192 bytes"),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else value,
)
def test_a_bearer_token_that_is_none_is_refused(
    authenticator: Authenticator, authorization: bytes, reason: str
) -> None:
    refusal = refusal_of(authenticator, authorization)
    assert reason in refusal.message
    assert 'error="invalid_token"' in refusal.headers["WWW-Authenticate"]


def test_a_token_is_verified_once_and_then_remembered(
    forger: TokenForger, authenticator: Authenticator, verifier: CountingVerifier
) -> None:
    authorization = bearer(forger.forge())
    first = authenticator.authenticate(authorization)
    assert authenticator.authenticate(authorization) == first
    assert verifier.verified == 1


def test_a_remembered_token_never_outlives_its_end(
    forger: TokenForger, authenticator: Authenticator
) -> None:
    authorization = bearer(forger.forge({"exp": NOW + 60}))
    for forger.clock.now in (NOW, NOW + 30, NOW + 59.999):
        assert authenticator.authenticate(authorization).subject == "tests"
    for forger.clock.now in (NOW + 60, NOW + 3600):
        assert "expired at 2027-01-15T08:01:00Z" in refusal_of(authenticator, authorization).message


def test_an_expired_token_is_forgotten(
    forger: TokenForger, authenticator: Authenticator, verifier: CountingVerifier
) -> None:
    """Set back, the clock lets the token in again, but only through the verifier."""
    authorization = bearer(forger.forge({"exp": NOW + 60}))
    authenticator.authenticate(authorization)
    forger.clock.now = NOW + 60
    refusal_of(authenticator, authorization)
    forger.clock.now = NOW
    authenticator.authenticate(authorization)
    assert verifier.verified == 3


def test_a_refusal_is_never_remembered(forger: TokenForger, authenticator: Authenticator) -> None:
    authorization = bearer(forger.forge({"nbf": NOW + 600}))
    refusal_of(authenticator, authorization)
    forger.clock.now = NOW + 600
    assert authenticator.authenticate(authorization).subject == "tests"


def test_a_refused_token_is_refused_every_time(
    forger: TokenForger, authenticator: Authenticator, verifier: CountingVerifier
) -> None:
    authorization = bearer(forger.forge({"aud": "elsewhere"}))
    for _ in range(3):
        refusal_of(authenticator, authorization)
    assert verifier.verified == 3


def test_a_remembered_token_vouches_for_no_other(
    forger: TokenForger, authenticator: Authenticator
) -> None:
    one, other = (bearer(forger.forge({"sub": name})) for name in ("one", "other"))
    assert authenticator.authenticate(one).subject == "one"
    assert authenticator.authenticate(other).subject == "other"
    refusal_of(authenticator, one[:-4] + b"AAAA")


def test_the_token_used_longest_ago_makes_room(
    forger: TokenForger, verifier: CountingVerifier
) -> None:
    authenticator = Authenticator(verifier, capacity=2)
    kept, dropped, new = (bearer(forger.forge({"sub": name})) for name in "abc")
    for authorization in (kept, dropped, kept, new):
        authenticator.authenticate(authorization)
    assert verifier.verified == 3
    authenticator.authenticate(kept)
    assert verifier.verified == 3
    authenticator.authenticate(dropped)
    assert verifier.verified == 4


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(authorization=st.binary() | st.binary().map(lambda rest: b"Bearer " + rest))
def test_whatever_the_header_the_answer_is_a_refusal(
    authenticator: Authenticator, authorization: bytes
) -> None:
    refusal_of(authenticator, authorization)
