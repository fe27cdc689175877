"""Tokens that the service issues."""

import base64
from datetime import timedelta

import msgspec
import pytest

from auth.token_forger import AUDIENCE, COMPANY, ISSUER, JSON, NOW, TokenForger
from comptoir.auth.tokens import Scope
from comptoir.errors.refusal import OperatorError

HOUR = timedelta(hours=1)


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
