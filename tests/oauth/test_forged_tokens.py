"""Tokens of clients that the endpoint did not issue: altered, forged, foreign, out of time."""

import base64
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from joserfc.jwk import ECKey, Key, OctKey

from comptoir.auth.keys import load_keys
from support.assertions import base64url, signed
from support.clients import add_client
from support.companies import Company
from support.refusals import refusal
from support.service import Service
from support.together import together

Members = Mapping[str, object]
STRANGER = ECKey.generate_key("P-256")


@dataclass(frozen=True)
class Genuine:
    """A token of the endpoint, and the key that signed it."""

    token: str
    key: ECKey

    @property
    def parts(self) -> list[str]:
        return self.token.split(".")

    def member(self, part: int) -> dict[str, object]:
        """The header (0) or the claims (1)."""
        return msgspec.json.decode(decoded(self.parts[part]), type=dict[str, object])

    def signed(
        self, claims: Members | None = None, header: Members | None = None, key: Key | None = None
    ) -> str:
        """The token with other claims and header members, signed; None leaves a member out."""
        members = {**self.member(0), **(header or {})}
        protected = {name: value for name, value in members.items() if value is not None}
        payload = msgspec.json.encode({**self.member(1), **(claims or {})})
        return signed(protected, payload, key or self.key)

    def unsigned(self, header: Members) -> str:
        protected = msgspec.json.encode({**self.member(0), **header})
        return f"{base64url(protected)}.{self.parts[1]}."


@pytest.fixture(scope="module")
def genuine(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Genuine:
    webshop = add_client(service, tmp_path_factory.mktemp("client"), scope="records.read")
    return Genuine(webshop.token(), load_keys(Path(service.settings.keys)).signing)


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(f"{text}==")


def with_more_scopes(genuine: Genuine) -> str:
    header, _, signature = genuine.parts
    claims = msgspec.json.encode({**genuine.member(1), "scope": "admin"})
    return f"{header}.{base64url(claims)}.{signature}"


def with_part(index: int) -> Callable[[Genuine], str]:
    """A part of another genuine token: its header (0), claims or signature."""

    def forge(genuine: Genuine) -> str:
        other = genuine.signed({"jti": "another"}, {"nonce": "n"}).split(".")
        return ".".join([*genuine.parts[:index], other[index], *genuine.parts[index + 1 :]])

    return forge


def with_a_public_secret(content: Callable[[ECKey], bytes]) -> Callable[[Genuine], str]:
    """HS256 with the public key, which everybody knows (RFC 8725, 2.1)."""

    def forge(genuine: Genuine) -> str:
        secret = OctKey.import_key(base64url(content(genuine.key)))
        return genuine.signed(header={"alg": "HS256"}, key=secret)

    return forge


def claiming(**claims: object) -> Callable[[Genuine], str]:
    return lambda genuine: genuine.signed(claims)


def at(**offsets: float) -> Callable[[Genuine], str]:
    """Times in seconds from now."""
    return lambda genuine: genuine.signed(
        {name: time.time() + offset for name, offset in offsets.items()}
    )


def borrowed(header: Members) -> Callable[[Genuine], str]:
    return lambda genuine: genuine.signed(header=header, key=STRANGER)


FORGED: Mapping[str, Mapping[str, Callable[[Genuine], str]]] = {
    "signature is invalid": {
        "altered claims": with_more_scopes,
        "the header of another token": with_part(0),
        "the claims of another token": with_part(1),
        "the signature of another token": with_part(2),
        "no signature": lambda genuine: f"{'.'.join(genuine.parts[:2])}.",
        "another key": borrowed({}),
        "the key in jwk": borrowed({"jwk": STRANGER.as_dict(private=False)}),
        "the address of the key in jku": borrowed({"jku": "https://127.0.0.1/keys"}),
        "the address of the key in x5u": borrowed({"x5u": "https://127.0.0.1/key"}),
        "the key in x5c": borrowed({"x5c": [base64url(STRANGER.as_der(private=False))]}),
    },
    "(alg) is not accepted": {
        "alg none": lambda genuine: genuine.unsigned({"alg": "none"}),
        "alg None": lambda genuine: genuine.unsigned({"alg": "None"}),
        "alg NONE": lambda genuine: genuine.unsigned({"alg": "NONE"}),
        "HS256 with the public key in PEM": with_a_public_secret(
            lambda key: key.as_pem(private=False)
        ),
        "HS256 with the public key in DER": with_a_public_secret(
            lambda key: key.as_der(private=False)
        ),
        "HS256 with the public key as JWK": with_a_public_secret(
            lambda key: msgspec.json.encode(key.as_dict(private=False))
        ),
        "an algorithm that is not configured": lambda genuine: genuine.signed(
            header={"alg": "ES384"}, key=ECKey.generate_key("P-384")
        ),
    },
    "does not name its signing key (kid)": {
        "no name of the key": lambda genuine: genuine.signed(header={"kid": None}),
        "only the key in jwk": borrowed({"kid": None, "jwk": STRANGER.as_dict(private=False)}),
    },
    "(kid) is not trusted": {
        "the name of another key": borrowed({"kid": STRANGER.thumbprint()}),
        "the name of the key in jwk": borrowed(
            {"kid": STRANGER.thumbprint(), "jwk": STRANGER.as_dict(private=False)}
        ),
    },
    "another audience (aud)": {"another audience": claiming(aud="elsewhere")},
    "(iss) is not trusted": {
        "a tenant that does not exist": claiming(iss="http://127.0.0.1:8080/elsewhere/v2.0"),
        "an issuer at another address": claiming(iss="https://evil.example/comptoir/v2.0"),
    },
    "(typ) is not that of an access token": {
        "the type of an ID token": lambda genuine: genuine.signed(header={"typ": "JWT"})
    },
    "client": {"a subject that is not a client": claiming(sub="quickstart")},
    "expired at": {"an end in the past": at(exp=-1)},
    "claims are invalid": {"an end without a bound": claiming(exp=1e300)},
    "is not valid before": {"a beginning beyond the difference of clocks": at(nbf=120)},
    "issued in the future": {"an issue beyond the difference of clocks": at(iat=120)},
}
"""By a part of the refusal."""


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@together(("reason", "forgery"), [(reason, each) for reason in FORGED for each in FORGED[reason]])
def test_a_forged_token_is_refused(
    reason: str, forgery: str, genuine: Genuine, company: Company
) -> None:
    token = FORGED[reason][forgery](genuine)
    response = company.using(token).get("itemsExt")
    assert response.status_code == 401, response.text
    assert reason in refusal(response, "Authentication_InvalidCredentials").message
    assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]
    shown = f"{response.text}{response.headers}"
    assert not any(part in shown for part in token.split(".") if len(part) > 8)


def test_a_token_within_the_rules_is_accepted(genuine: Genuine, company: Company) -> None:
    """So nothing but the forgery is the reason for a refusal above."""
    for token in (genuine.token, genuine.signed(), at(nbf=30, iat=30)(genuine)):
        assert company.using(token).get("itemsExt").status_code == 200
