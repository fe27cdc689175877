import base64
from contextlib import suppress
from datetime import timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from auth.token_forger import AUDIENCE, COMPANY, ISSUER, JSON, NOW, TokenForger, new_key, unsigned
from comptoir.auth import Principal, Scope, TokenVerifier
from comptoir.auth.tokens import CLOCK_SKEW
from comptoir.errors import INVALID_CREDENTIALS, OperatorError, Refusal
from support.effort import examples

HOUR = timedelta(hours=1)


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


def part_of(token: str, index: int) -> dict[str, JSON]:
    segment = token.split(".")[index]
    return msgspec.json.decode(
        base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)), type=dict[str, JSON]
    )


class TestIssue:
    def test_a_token_says_what_rfc_9068_asks_for(self, forger: TokenForger) -> None:
        token = forger.issuer.issue(
            "tests", [Scope.RECORDS_READ, Scope.RECORDS_WRITE], [COMPANY], HOUR
        )
        assert part_of(token, 0) == {"alg": "ES256", "kid": forger.kid, "typ": "at+jwt"}
        claims = part_of(token, 1)
        assert isinstance(claims.pop("jti"), str)
        assert claims == {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "tests",
            "exp": NOW + 3600,
            "iat": NOW,
            "scope": "records.read records.write",
            "companies": [COMPANY],
        }

    def test_no_companies_leave_the_claim_out(self, forger: TokenForger) -> None:
        assert "companies" not in part_of(forger.issuer.issue("tests", [], None, HOUR), 1)

    def test_every_token_has_an_id_of_its_own(self, forger: TokenForger) -> None:
        tokens = [forger.issuer.issue("tests", [], None, HOUR) for _ in range(2)]
        assert part_of(tokens[0], 1)["jti"] != part_of(tokens[1], 1)["jti"]

    @pytest.mark.parametrize(
        "ttl", [timedelta(0), timedelta(seconds=-1), timedelta(seconds=0.9), timedelta.max]
    )
    def test_an_impossible_lifetime_is_refused(self, forger: TokenForger, ttl: timedelta) -> None:
        with pytest.raises(OperatorError):
            forger.issuer.issue("tests", [Scope.ADMIN], None, ttl)

    @pytest.mark.parametrize("subject", ["", "a\nb", "a\x00", "\ud800", "x" * 256])
    def test_an_impossible_subject_is_refused(self, forger: TokenForger, subject: str) -> None:
        with pytest.raises(OperatorError, match="sub"):
            forger.issuer.issue(subject, [Scope.ADMIN], None, HOUR)

    def test_a_company_that_is_no_guid_is_refused(self, forger: TokenForger) -> None:
        with pytest.raises(OperatorError, match="companies"):
            forger.issuer.issue("tests", [Scope.ADMIN], ["CRONUS"], HOUR)


class TestAccepted:
    def test_an_issued_token_gives_its_principal(self, forger: TokenForger) -> None:
        token = forger.issuer.issue("tests", [Scope.ADMIN], [COMPANY.upper()], HOUR)
        assert forger.verifier().verify(token).principal == Principal(
            "tests", frozenset({"admin"}), frozenset({COMPANY})
        )

    def test_an_absent_list_of_companies_is_every_company(self, forger: TokenForger) -> None:
        assert forger.verifier().verify(forger.forge()).principal.companies is None

    def test_an_empty_list_of_companies_is_none(self, forger: TokenForger) -> None:
        assert (
            forger.verifier().verify(forger.forge({"companies": []})).principal.companies
            == frozenset()
        )

    def test_an_escaped_claim_name_is_the_same_claim(self, forger: TokenForger) -> None:
        payload = forger.payload(companies=[]).replace(b"companies", b"compan\\u0069es")
        assert forger.verifier().verify(forger.forge(payload)).principal.companies == frozenset()

    @pytest.mark.parametrize("typ", [None, "JWT", "at+jwt", "application/at+jwt", "AT+JWT"])
    def test_the_types_in_use_are_accepted(self, forger: TokenForger, typ: str | None) -> None:
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
    def test_a_space_alone_ends_a_scope(self, forger: TokenForger, blank: str) -> None:
        """RFC 6749, section 3.3; any other blank is a part of a name that no scope has."""
        joined = f"records.read{blank}records.write"
        token = forger.forge({"scope": f" {joined}  reports.read {blank}"})
        principal = forger.verifier().verify(token).principal
        assert principal.scopes == {joined, "reports.read", blank}

    def test_members_of_the_header_that_are_not_known_are_ignored(
        self, forger: TokenForger
    ) -> None:
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
    def test_a_foreign_issuer_may_use_another_algorithm_that_is_named(
        self, forger: TokenForger, algorithm: str, key: RSAKey | ECKey | OKPKey
    ) -> None:
        token = forger.forge(header={"alg": algorithm, "kid": "theirs"}, key=key)
        verifier = TokenVerifier({"theirs": key}, ISSUER, AUDIENCE, (algorithm,), forger.clock)
        assert verifier.verify(token).principal.subject == "tests"


class TestAlgorithms:
    @pytest.mark.parametrize("name", ["none", "HS256", "HS512", "EdDSA", "es256", "", "dir"])
    def test_only_asymmetric_algorithms_can_be_configured(
        self, forger: TokenForger, name: str
    ) -> None:
        with pytest.raises(OperatorError, match="choose among ES256"):
            forger.verifier("ES256", name)

    def test_an_algorithm_must_be_configured(self, forger: TokenForger) -> None:
        with pytest.raises(OperatorError, match="no algorithm"):
            TokenVerifier(forger.keys.trusted, ISSUER, AUDIENCE, ())

    @pytest.mark.parametrize("name", ["none", "None", "NONE"])
    def test_an_unsigned_token_is_refused(self, forger: TokenForger, name: str) -> None:
        header = msgspec.json.encode({"alg": name, "kid": forger.kid, "typ": "at+jwt"})
        token = unsigned(header, forger.payload())
        assert "(`alg`) is not accepted" in refusal_of(forger.verifier(), token)

    @pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
    @pytest.mark.parametrize("algorithms", [("ES256",), ("ES256", "RS256")])
    def test_the_public_key_as_a_shared_secret_is_refused(
        self, forger: TokenForger, algorithms: tuple[str, ...]
    ) -> None:
        """RFC 8725 section 2.1: HS256, keyed with the bytes of the public key."""
        secret = OctKey.import_key(base64.b64encode(forger.keys.signing.as_der()))
        token = forger.forge(header={"alg": "HS256"}, key=secret)
        assert "(`alg`) is not accepted" in refusal_of(forger.verifier(*algorithms), token)

    def test_an_asymmetric_algorithm_that_is_not_configured_is_refused(
        self, forger: TokenForger
    ) -> None:
        key = ECKey.generate_key("P-384")
        token = forger.forge(header={"alg": "ES384"}, key=key)
        assert "(`alg`) is not accepted" in refusal_of(forger.verifier(), token)

    @pytest.mark.parametrize("key", [ECKey.generate_key("P-384"), RSAKey.generate_key(2048)])
    def test_a_key_of_another_kind_than_the_algorithm_is_refused(
        self, forger: TokenForger, key: ECKey | RSAKey
    ) -> None:
        algorithm = "ES384" if isinstance(key, ECKey) else "RS256"
        token = forger.forge(header={"alg": algorithm}, key=key)
        message = refusal_of(forger.verifier("ES256", algorithm), token)
        assert "of another kind than its algorithm" in message


class TestSignatures:
    def test_a_token_signed_by_another_key_under_a_trusted_name_is_refused(
        self, forger: TokenForger
    ) -> None:
        message = refusal_of(forger.verifier(), forger.forge(key=new_key()))
        assert "signature does not fit" in message

    def test_a_token_that_names_an_unknown_key_is_refused(self, forger: TokenForger) -> None:
        stranger = new_key()
        token = forger.forge(header={"kid": stranger.thumbprint()}, key=stranger)
        assert "(`kid`) is not trusted" in refusal_of(forger.verifier(), token)

    def test_a_token_that_names_no_key_is_refused(self, forger: TokenForger) -> None:
        assert "names no signing key" in refusal_of(
            forger.verifier(), forger.forge(header={"kid": None})
        )

    @pytest.mark.parametrize("named", [True, False])
    def test_a_token_does_not_bring_its_own_key(self, forger: TokenForger, named: bool) -> None:
        stranger = new_key()
        kid = forger.kid if named else stranger.thumbprint()
        embedded = {"kid": kid, "jwk": stranger.as_dict(private=False)}
        message = refusal_of(forger.verifier(), forger.forge(header=embedded, key=stranger))
        assert ("signature does not fit" if named else "not trusted") in message

    def test_a_token_does_not_say_where_its_key_is(self, forger: TokenForger) -> None:
        stranger = new_key()
        header = {"jku": "https://evil.example/keys", "x5u": "https://evil.example/key"}
        message = refusal_of(forger.verifier(), forger.forge(header=header, key=stranger))
        assert "signature does not fit" in message

    @pytest.mark.parametrize("index", [0, 1, 2])
    def test_a_token_with_any_part_of_another_one_is_refused(
        self, forger: TokenForger, index: int
    ) -> None:
        parts = forger.forge().split(".")
        other = forger.forge({"sub": "other"}, header={"typ": "JWT"}).split(".")
        parts[index] = other[index]
        assert "signature does not fit" in refusal_of(forger.verifier(), ".".join(parts))

    def test_a_token_without_its_signature_is_refused(self, forger: TokenForger) -> None:
        token = forger.forge().rpartition(".")[0] + "."
        assert "signature does not fit" in refusal_of(forger.verifier(), token)


class TestHeaders:
    @pytest.mark.parametrize("typ", ["dpop+jwt", "logout+jwt", "secevent+jwt", ""])
    def test_a_token_of_another_type_is_refused(self, forger: TokenForger, typ: str) -> None:
        assert "(`typ`)" in refusal_of(forger.verifier(), forger.forge(header={"typ": typ}))

    @pytest.mark.parametrize(
        "header",
        [{"crit": ["exp"], "exp": 1}, {"crit": ["b64"], "b64": True}, {"crit": ["kid"]}],
        ids=str,
    )
    def test_a_critical_extension_is_refused(
        self, forger: TokenForger, header: dict[str, JSON]
    ) -> None:
        own = {"alg": "ES256", "kid": forger.kid, **header}
        token = unsigned(msgspec.json.encode(own), forger.payload(), b"s" * 64)
        assert "(`crit`)" in refusal_of(forger.verifier(), token)

    def test_an_empty_list_of_critical_extensions_is_refused(self, forger: TokenForger) -> None:
        assert "(`crit`)" in refusal_of(forger.verifier(), forger.forge(header={"crit": []}))

    @pytest.mark.parametrize(
        "header",
        [
            b"",
            b"{}",
            b"7",
            b'["alg"]',
            b'"alg"',
            b'{"alg":"ES256"',
            b'{"alg":["ES256"]}',
            b'{"alg":{"ES256":1}}',
            b'{"alg":"ES256","kid":null}',
            b'{"alg":"ES256","kid":7}',
            b'{"alg":"ES256","typ":7}',
            b'{"alg":"ES256","crit":7}',
            b'{"alg":"ES256","crit":"b64"}',
            b'{"alg":"ES256","crit":[["b64"]]}',
            b'{"alg":"ES256","b64":false}',
            b'{"alg":"ES256","kid":"' + b"k" * 1000 + b'"}',
            b'{"alg":' + b"[" * 370,
            b"\xff\xfe",
        ],
        ids=lambda header: header[:30].decode("latin-1"),
    )
    def test_a_garbled_header_is_refused(self, forger: TokenForger, header: bytes) -> None:
        token = unsigned(header, forger.payload(), b"s" * 64)
        assert "token is garbled" in refusal_of(forger.verifier(), token)

    def test_a_signed_header_with_a_malformed_member_is_refused(self, forger: TokenForger) -> None:
        header = {"alg": "ES256", "kid": forger.kid, "jku": "file:///etc/passwd"}
        token = unsigned(msgspec.json.encode(header), forger.payload(), b"s" * 64)
        assert "token is garbled" in refusal_of(forger.verifier(), token)

    @pytest.mark.parametrize(
        "token", ["", ".", "..", "...", "a.b", "a.b.c", "a.b.c.d.e", "é.é.é", "\ud800", "a b.c.d"]
    )
    def test_what_is_not_in_compact_form_is_refused(self, forger: TokenForger, token: str) -> None:
        assert "token is garbled" in refusal_of(forger.verifier(), token)


class TestClaims:
    @pytest.mark.parametrize("claim", ["iss", "aud", "sub", "exp", "scope"])
    def test_a_missing_claim_is_refused_by_name(self, forger: TokenForger, claim: str) -> None:
        token = forger.forge({claim: msgspec.UNSET})
        assert f"`{claim}`" in refusal_of(forger.verifier(), token)

    @pytest.mark.parametrize(
        ("claim", "value"),
        [
            ("iss", None),
            ("aud", None),
            ("aud", 7),
            ("aud", [7]),
            ("aud", {AUDIENCE: 1}),
            ("sub", 7),
            ("sub", ""),
            ("sub", "a\nb"),
            ("sub", "a\x00"),
            ("sub", "x" * 256),
            ("exp", None),
            ("exp", True),
            ("exp", "1900000000"),
            ("exp", -1),
            ("exp", NOW * 1000),
            ("iat", "1"),
            ("iat", None),
            ("nbf", False),
            ("jti", 7),
            ("scope", ["records.read"]),
            ("scope", None),
            ("companies", None),
            ("companies", COMPANY),
            ("companies", {COMPANY: True}),
            ("companies", [None]),
            ("companies", [COMPANY, "CRONUS"]),
            ("companies", [COMPANY + "\n"]),
        ],
        ids=repr,
    )
    def test_a_claim_of_another_form_is_refused_by_name(
        self, forger: TokenForger, claim: str, value: JSON
    ) -> None:
        message = refusal_of(forger.verifier(), forger.forge({claim: value}))
        assert "follows RFC 9068" in message
        assert claim in message

    @pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 400])
    def test_an_end_that_is_no_finite_number_is_refused(
        self, forger: TokenForger, number: bytes
    ) -> None:
        payload = forger.payload(exp=0).replace(b'"exp":0', b'"exp":' + number)
        assert number in payload
        assert "follows RFC 9068" in refusal_of(forger.verifier(), forger.forge(payload))

    @pytest.mark.parametrize(
        "payload",
        [b"", b"[]", b"7", b"null", b"{", b'{"sub":"\xff"}', b'{"sub":"\\ud800"}']
        + [b'{"deep":' + bracket * 5000 for bracket in (b"[", b'{"a":')],
        ids=lambda payload: payload[:20].decode("latin-1"),
    )
    def test_claims_that_are_no_object_are_refused(
        self, forger: TokenForger, payload: bytes
    ) -> None:
        assert "follows RFC 9068" in refusal_of(forger.verifier(), forger.forge(payload))

    @pytest.mark.parametrize("issuer", ["", ISSUER + "/", ISSUER.upper()])
    def test_another_issuer_is_refused(self, forger: TokenForger, issuer: str) -> None:
        message = refusal_of(forger.verifier(), forger.forge({"iss": issuer}))
        assert "(`iss`)" in message
        assert ISSUER in message

    @pytest.mark.parametrize("audience", ["", [], ["elsewhere"], AUDIENCE[:-1], AUDIENCE + "2"])
    def test_another_audience_is_refused(self, forger: TokenForger, audience: JSON) -> None:
        message = refusal_of(forger.verifier(), forger.forge({"aud": audience}))
        assert "(`aud`)" in message
        assert AUDIENCE in message

    @pytest.mark.parametrize("ended", [NOW, NOW - 1, 0])
    def test_an_expired_token_is_refused_with_its_end(
        self, forger: TokenForger, ended: int
    ) -> None:
        message = refusal_of(forger.verifier(), forger.forge({"exp": ended}))
        assert "expired at " in message
        assert ("2027-01-15T08:00:00Z" in message) == (ended == NOW)

    def test_a_token_that_is_not_yet_valid_is_refused(self, forger: TokenForger) -> None:
        token = forger.forge({"nbf": NOW + CLOCK_SKEW + 1})
        assert "not valid before 2027-01-15T08:01:01Z" in refusal_of(forger.verifier(), token)

    def test_a_token_from_the_future_is_refused(self, forger: TokenForger) -> None:
        token = forger.forge({"iat": NOW + CLOCK_SKEW + 1})
        assert "issued in the future" in refusal_of(forger.verifier(), token)


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
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@few
@given(claims=st.dictionaries(claim_names, json_values, max_size=3))
def test_whatever_the_claims_the_answer_is_a_principal_or_a_refusal(
    forger: TokenForger, claims: dict[str, JSON]
) -> None:
    with suppress(Refusal):
        principal = forger.verifier().verify(forger.forge(claims)).principal
        assert isinstance(principal.subject, str)
        assert (principal.companies is None) == ("companies" not in claims)


@few
@given(header=st.binary(max_size=80) | json_values.map(msgspec.json.encode))
def test_whatever_the_header_an_unsigned_token_is_refused(
    forger: TokenForger, header: bytes
) -> None:
    with pytest.raises(Refusal):
        forger.verifier().verify(unsigned(header, forger.payload(), b"s" * 64))
