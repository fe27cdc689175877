"""Clients that sign assertions with a private key, as programs do and as they should not."""

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from uuid import uuid4

import httpx
import msgspec
from joserfc import jws
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey
from msgspec import UNSET

from comptoir.auth.client_keys import parse_client_key
from comptoir.auth.fields import USUAL_DAYS, new_client
from comptoir.auth.limits import DAY
from comptoir.cli.runner import operator
from support.clients import GRANT, TOKEN_PATH, Serving, ask
from support.command import Command
from support.tokens import BOTH

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
PrivateKey = ECKey | OKPKey | RSAKey
JSON = object

_numbers = count()


@dataclass(frozen=True)
class Signer:
    """A client without a secret, and its private key, whose id is `kid`."""

    service: Serving
    command: Command
    name: str
    id: str
    key: PrivateKey
    kid: str

    @property
    def audience(self) -> str:
        """The address of the token endpoint."""
        return f"{self.service.origin.root}/{TOKEN_PATH}"

    def claims(self, **changed: JSON) -> bytes:
        """The claims of a valid assertion with some changed; UNSET leaves one out."""
        now = time.time()
        whom = {"iss": self.id, "sub": self.id, "aud": self.audience}
        once = {"iat": now, "exp": now + 600, "jti": str(uuid4())}
        claims = {**whom, **once, **changed}.items()
        return msgspec.json.encode({name: value for name, value in claims if value is not UNSET})

    def sign(
        self,
        claims: bytes | None = None,
        header: Mapping[str, JSON] | None = None,
        key: PrivateKey | None = None,
    ) -> str:
        """An assertion with any claims and header."""
        key = key or self.key
        members = {"alg": usual_algorithm(key), **(header or {})}
        return signed(members, self.claims() if claims is None else claims, key)

    def form(self, assertion: str | None = None) -> Mapping[str, str]:
        """The parameters that authenticate the client, with its own assertion if none is given."""
        return {
            "client_id": self.id,
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": assertion or self.sign(),
        }

    def ask(self, assertion: str | None = None, **form: str) -> httpx.Response:
        """Ask for a token."""
        return ask(self.service, {**GRANT, **self.form(assertion), **form})


def add_signer(
    service: Serving, folder: Path, key: PrivateKey, file: bytes | None = None
) -> Signer:
    """Add a client with a key, or with the certificate in `file`."""
    client, _ = new_client(f"signer-{next(_numbers)}", None, scopes=frozenset(BOTH))
    content, now = file or key.as_pem(private=False), int(time.time())
    added = parse_client_key(content, "a key", now, now + USUAL_DAYS * DAY)
    control = service.admin.control
    service.admin.wait(control.add_client(client, operator()))
    service.admin.wait(control.add_key(client.name, added, operator()))
    command = Command(folder, service.settings.database)
    return Signer(service, command, client.name, client.id, key, added.kid)


def usual_algorithm(key: Key) -> str:
    """An algorithm that suits a key."""
    return {"RSA": "RS256", "EC": "ES256", "OKP": "Ed25519"}[key.key_type]


def signed(header: Mapping[str, JSON], payload: bytes, key: Key) -> str:
    """A token with any header, which is encoded as it is."""
    segments = f"{base64url(msgspec.json.encode(header))}.{base64url(payload)}"
    algorithm = usual_algorithm(key) if header["alg"] == "EdDSA" else str(header["alg"])
    registry = jws.JWSRegistry(algorithms=[algorithm])
    signature = registry.get_alg(algorithm).sign(segments.encode(), key)
    return f"{segments}.{base64url(signature)}"


def base64url(content: bytes) -> str:
    """Bytes as a token has them."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
