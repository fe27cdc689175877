"""Outside issuers on the loopback address, which rotate their keys, stall and lie."""

import base64
import hashlib
import ssl
import time
from collections.abc import Mapping, Sequence
from html import escape
from itertools import count, cycle
from pathlib import Path
from threading import Event
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
from joserfc import jws
from joserfc.jwk import RSAKey
from typing_extensions import override

from comptoir.auth.verification import ASYMMETRIC_ALGORITHMS
from comptoir.cli.runner import operator
from support.clients import Serving, add_client
from support.command import Command, Result
from support.lying_server import OK, LyingServer, Respond, with_body

AUDIENCE = "api://comptoir-tests"
DISCOVERY = "/.well-known/openid-configuration"
KEYS = "/keys"
AUTHORIZE = "/authorize"
TOKEN = "/token"
LOOPBACK = "127.0.0.0/8"

Claims = Mapping[str, object]

_numbers = count()
# the generation of a key takes long, so the fifth issuer has the key of the first
_keys = cycle(RSAKey.generate_key(2048) for _ in range(4))


def public(kid: str, key: RSAKey) -> dict[str, object]:
    """The member of a key set."""
    return {**key.as_dict(private=False), "kid": kid, "use": "sig", "alg": "RS256"}


class OtherIssuer(LyingServer):
    """An issuer with a certificate of the authority in a folder, which the machine must trust.

    `lies` are its responses by path, instead of good ones. `gate` lets it respond; `asked` are the
    paths of its requests, below that of its URL. `user` are claims of its ID tokens, `id_header`
    members of their headers, and `authorizations` those of the requests for them.
    """

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        self.asked: list[str] = []
        self.lies: dict[str, Respond] = {}
        self.gate = Event()
        self.gate.set()
        self.keys: dict[str, RSAKey] = {}
        self.user: Claims = {}
        self.id_header: Claims = {}
        self.authorizations: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        super().__init__(folder, self._responding, host)
        # another issuer may get the same port later
        self._path = f"/realms/{next(_numbers)}"
        self.url = f"https://localhost:{self.port}{self._path}"
        self.rotate()

    @override
    def stop(self) -> None:
        self.gate.set()
        super().stop()

    @property
    def kid(self) -> str:
        """The name of the key that signs."""
        return list(self.keys)[-1]

    def rotate(self, *, keep: bool = False) -> None:
        """Sign with a new key; `keep`: still publish the former ones."""
        kept = self.keys if keep else {}
        self.keys = {**kept, f"key-{time.monotonic_ns()}": next(_keys)}

    def token(
        self, claims: Claims | None = None, header: Claims | None = None, key: RSAKey | None = None
    ) -> str:
        """A token for an hour that may read; claims that are None are left out."""
        now = int(time.time())
        good = {"iss": self.url, "aud": AUDIENCE, "exp": now + 3600, "iat": now}
        merged = {**good, "sub": "joe", "scope": "records.read", **(claims or {})}
        payload = {name: value for name, value in merged.items() if value is not None}
        members = {"alg": "RS256", "kid": self.kid, "typ": "JWT", **(header or {})}
        return jws.serialize_compact(
            members,
            msgspec.json.encode(payload),
            key or self.keys[self.kid],
            registry=jws.JWSRegistry(algorithms=ASYMMETRIC_ALGORITHMS, strict_check_header=False),
        )

    def lie(self, path: str, content: object) -> None:
        """Respond with a JSON value at a path."""
        self.lies[path] = with_body(msgspec.json.encode(content))

    def discovery(self, **changed: object) -> dict[str, object]:
        """The discovery document, with some members changed."""
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}{KEYS}",
            "authorization_endpoint": f"{self.url}{AUTHORIZE}",
            "token_endpoint": f"{self.url}{TOKEN}",
            **changed,
        }

    def answer(self, address: str, /, **changed: str | None) -> str:
        """Where the issuer sends a user who has logged in at an address.

        Some parameters may be changed, or left out if they are None.
        """
        asked = dict(parse_qsl(urlsplit(address).query))
        code = f"code-{next(_numbers)}"
        self._codes[code] = asked
        good = {"code": code, "state": asked["state"], "iss": self.url}
        query = {name: each for name, each in {**good, **changed}.items() if each is not None}
        return f"{asked['redirect_uri']}?{urlencode(query)}"

    def _given(self, form: Mapping[str, str], authorization: str) -> Respond:
        """The response of the token endpoint, which gives an ID token once for each code."""
        self.authorizations.append(authorization)
        asked = self._codes.pop(form.get("code", ""), {})
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        is_right = (
            asked.get("code_challenge") == challenge
            and asked["code_challenge_method"] == "S256"
            and asked["redirect_uri"] == form.get("redirect_uri")
            and form["grant_type"] == "authorization_code"
        )
        if not is_right:
            return with_body(b'{"error": "invalid_grant"}', b"HTTP/1.1 400 Bad Request\r\n")
        claims = {"aud": asked["client_id"], "nonce": asked["nonce"], "scope": None}
        token = self.token({**claims, **self.user}, self.id_header)
        return with_body(msgspec.json.encode({"access_token": "x", "id_token": token}))

    def _responding(self, connection: ssl.SSLSocket) -> None:
        path = self.heads[-1].split()[1].decode().removeprefix(self._path)
        self.asked.append(path)
        self.gate.wait()
        if path == TOKEN:
            form, authorization = _form_from(connection, self.heads[-1])
            self.lies.get(path, self._given(form, authorization))(connection)
            return
        if path.startswith(f"{AUTHORIZE}?"):
            # the user is logged in there, and follows a link back
            link = escape(self.answer(path))
            page = f'<link rel="icon" href="data:,"><a href="{link}">Continue</a>'
            with_body(page.encode(), OK + b"Content-Type: text/html\r\n")(connection)
            return
        key_set = {"keys": [public(kid, key) for kid, key in self.keys.items()]}
        good = self.discovery() if path == DISCOVERY else key_set
        self.lies.get(path, with_body(msgspec.json.encode(good)))(connection)


def _form_from(connection: ssl.SSLSocket, begin: bytes) -> tuple[dict[str, str], str]:
    """A form, and the `Authorization` with which it is sent."""
    head, _, body = begin.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    while len(body) < int(headers["Content-Length"]):
        body += connection.recv(1 << 16)
    return dict(parse_qsl(body.decode())), headers.get("Authorization", "")


class IssuerCommand:
    """`comptoir issuer` for a service, which then notices the change at once."""

    def __init__(self, service: Serving, folder: Path) -> None:
        self._file = folder / "issuers.toml"
        self._file.write_text(f'outgoing_allow = "{LOOPBACK}"\n', encoding="utf-8")
        self._command = Command(folder, service.settings.database)
        self._admin = service.admin
        self._client = add_client(service, folder)

    def add(self, name: str, url: str, *options: str) -> Result:
        """Add an issuer."""
        added = self._command.done(*self._adding(name, url, *options))
        self._notice()
        return added

    def error(self, name: str, url: str, *options: str) -> str:
        """The error of an issuer that is not added."""
        return self._command.error(*self._adding(name, url, *options))

    def done(self, *arguments: str) -> str:
        """What another command prints."""
        out = self._command.done("issuer", *arguments).out
        self._notice()
        return out

    def remove(self, name: str) -> None:
        """Remove an issuer, without the command."""
        self._admin.wait(self._admin.control.remove_issuer(name, operator()))
        self._notice()

    def apply_roles(self, text: str) -> None:
        """Apply a roles file."""
        file = self._command.folder / "roles.toml"
        file.write_text(text, encoding="utf-8")
        self._command.done("role", "apply", file)
        self._notice()

    def _adding(self, name: str, url: str, *options: str) -> Sequence[str]:
        given = () if "--audience" in options else ("--audience", AUDIENCE)
        return ("issuer", "add", name, url, *given, *options, "--config", str(self._file))

    def _notice(self) -> None:
        # the service reads the control tables for each request of a client
        self._client.token()
