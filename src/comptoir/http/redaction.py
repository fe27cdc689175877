"""Removes secrets from what people may see of a request.

The names of secret properties come from the model. In doubt, more is removed than necessary.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from urllib.parse import unquote, unquote_plus

import msgspec

from comptoir.edm.model import Model
from comptoir.response.response import Header

MASK = "•••"
"""The text in place of a secret."""

_ENDS_OF_WORDS = (
    *("assertion", "authorization", "cookie", "credential", "jwt", "passcode", "passphrase"),
    *("passwd", "password", "passwort", "pwd", "pincode", "secret", "sessid", "sessionid"),
    "signature",
)
_TOKEN = "token"  # noqa: S105 - a name
_WORDS = ("auth", "bearer", "otp", "pass", "pin", "session", "sid", "sig", "totp")
_KEY = "key"
_KINDS_OF_KEYS = (
    *("access", "api", "encryption", "functions?", "master", "private", "shared", "signing"),
    "subscription",
)
_SECRET = re.compile(
    f"(?:{'|'.join(_ENDS_OF_WORDS)}"
    f"|(?<![a-z])(?:{'|'.join(_WORDS)})"
    f"|(?:{'|'.join(_KINDS_OF_KEYS)})[^a-z]*{_KEY}"
    # these say which state of the data a client has seen
    f"|(?<!consistency-)(?<!delta)(?<!delta-)(?<!skip)(?<!skip-){_TOKEN}"
    ")s?(?![a-z])"
)
"""The words of names, in lower case, whose values are secrets in any request."""

_PARTS_OF_NAMES = (*_ENDS_OF_WORDS, _TOKEN, *_WORDS, _KEY)
"""Texts of which every name of a secret contains one, which is quick to find."""

_WORD_BOUNDARY = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_USERINFO = re.compile(r"(?<=//)[^/?#\s<>\"]*@")
_NAME = re.compile(r"(?<![^=?&#;,/\s<])([^=?&#;,/\s<>\"]+)\s*=\s*")
"""The name of a parameter, in a URL or in a header."""
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"?|[^&\s<>"]*')
"""Its value, which may end later than in a URL."""
_TOKENS = re.compile(
    r"\beyJ[\w-]+\.[\w-]+\.[\w-]*|\b(?i:bearer|basic) +(?![\w-]+=\")[\w.~+/=-]{8,}"
)
"""Tokens that are known by their form, or by the scheme before them."""

_URL = "url"
"""The member of a batch with the URL of a request, whose value is in its member `body`."""
_BODY = "body"
_HEADERS = "headers"
"""The member of a batch with the headers of a request."""

_CLIENT_STATE = "clientState"
"""The member that proves to the receiver of a message who has sent it."""

_DECODINGS = 3
"""The most levels of percent-encoding; a text with more of them is removed."""

_JSON = msgspec.json.Decoder(float_hook=Decimal)
_ENCODER = msgspec.json.Encoder(decimal_format="number")
_SELECT = "$select"
_SELECTED = re.compile(r"[\w*/,. ]*")


class Shown(msgspec.Struct, frozen=True, gc=False):
    """A text without secrets, and the secrets that it had; None for a text that is not JSON."""

    text: str | None
    secrets: tuple[str, ...] = ()


class Redactor:
    """Removes the values of some properties, and credentials."""

    def __init__(self, names: Iterable[str]) -> None:
        declared = sorted(names)
        self.names = frozenset(name.lower() for name in declared)
        """The names of the secret properties, in lower case."""
        self._members = self.names | {_CLIENT_STATE.lower()}
        # an escaped name of a member contains a backslash
        parts = (*sorted(self._members), *_PARTS_OF_NAMES, "\\", f'"{_URL}"')
        self._mentions = tuple(part.encode() for part in parts)
        self._written = [f'"{name}"' for name in (*declared, _CLIENT_STATE)]
        self._member = re.compile(
            rf"({'|'.join(self._written)}):"
            r'(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^",\[{][^,\]}]*|[\[{].*)',
            re.DOTALL,
        )
        self.header = lru_cache(1_000)(self._header)
        """A header, without the value if it authenticates somebody or may contain a secret."""

    @classmethod
    def of(cls, model: Model) -> "Redactor":
        """One that knows the secret properties of a model."""
        return cls(
            declared.name
            for each in model.sets
            for declared in each.type.properties
            if declared.secret
        )

    def suspects(self, text: str) -> bool:
        """Whether a text, percent-encoded or not, may name a secret property."""
        for _ in range(_DECODINGS):
            lowered = text.lower()
            # in the JSON of an alias, \u0070 is a p
            if "\\" in text or any(name in lowered for name in self.names):
                return True
            if "%" not in text or (decoded := unquote(text)) == text:
                return False
            text = decoded
        return True

    def path(self, path: str) -> str:
        """A path up to the first segment that may contain a secret."""
        if not self.suspects(path):
            return self._text(path)
        kept: list[str] = []
        for segment in path.split("/"):
            if self.suspects(segment):
                break
            kept.append(segment)
        return "/".join([*kept, MASK])

    def query(self, query: str) -> str:
        """A query; of one that may name a secret property only the names of its options.

        One option may name the property, and another one have its value.
        """
        if not query:
            return query
        options = [each.partition("=") for each in query.split("&")]
        is_suspect = any(
            self.suspects(name) or (self.suspects(value) and not _selects(name, value))
            for name, _, value in options
        )
        shown: list[str] = []
        for name, equals, value in options:
            if self.suspects(name):
                shown.append(MASK)
            elif is_suspect or self.names_secret(_decoded(name)):
                shown.append(f"{name}{equals}{MASK if value else ''}")
            else:
                shown.append(f"{name}{equals}{self._text(value)}")
        return "&".join(shown)

    def _header(self, header: Header) -> tuple[str, str]:
        name = header[0].decode("latin-1")
        return name, self._of_header(name, header[1].decode("latin-1"))

    def _of_header(self, name: str, value: str) -> str:
        """The value of a header, unless it may contain a secret."""
        if self.names_secret(name) or self.suspects(value):
            return MASK
        return self._text(value)

    def _text(self, text: str) -> str:
        """A text without the credentials of URLs in it; of what hides them by encoding, nothing."""
        shown = plain = self._plain_text(text)
        for _ in range(_DECODINGS):
            if "%" not in plain or (decoded := unquote(plain)) == plain:
                return shown
            plain = decoded
            if self._plain_text(plain) != plain:
                break
        return MASK

    def _plain_text(self, text: str) -> str:
        if text.startswith("{"):
            text = self.sent(text.encode()).text or text
        if "@" in text:
            text = _USERINFO.sub(f"{MASK}@", text)
        if "eyJ" in text or " " in text:
            text = _TOKENS.sub(MASK, text)
        kept: list[str] = []
        end = 0
        for found in _NAME.finditer(text) if "=" in text else ():
            if found.start() >= end and self.names_secret(_decoded(found[1])):
                value = _VALUE.match(text, found.end())
                if value and value[0]:
                    kept += text[end : found.end()], MASK
                    end = value.end()
        return "".join([*kept, text[end:]])

    def sent(self, body: bytes) -> Shown:
        """The body that a client sent, with its secrets masked; None if it is not JSON."""
        try:
            value = _JSON.decode(body)
            lowered = body.lower()
            if not any(part in lowered for part in self._mentions):
                return Shown(body.decode())
            secrets: list[str] = []
            value = self._masked(value, secrets)
            return Shown(_ENCODER.encode(value).decode(), tuple(secrets))
        except (ValueError, ArithmeticError, RecursionError):
            return Shown(None)

    def written(self, body: str) -> str:
        """The beginning of a body in JSON that the service wrote, with its secrets masked.

        The service escapes no name of a member.
        """
        if not any(name in body for name in self._written):
            return body
        return self._member.sub(rf'\1:"{MASK}"', body)

    def names_secret(self, name: str) -> bool:
        """Whether the value of a member, an option or a header is secret, given its name.

        By its words `tokenType` is such a name, and `secretaryName` is not.
        """
        lowered = name.lower()
        if lowered in self._members:
            return True
        # splitting a name costs more
        if not any(part in lowered for part in _PARTS_OF_NAMES):
            return False
        return _SECRET.search(_WORD_BOUNDARY.sub("-", name).lower()) is not None

    def _url(self, url: str) -> str:
        path, mark, query = url.partition("?")
        return f"{self.path(path)}{mark}{self.query(query)}"

    def _masked(self, value: object, secrets: list[str]) -> object:
        if isinstance(value, list):
            return [self._masked(each, secrets) for each in value]
        if not isinstance(value, dict):
            return value
        url = value.get(_URL)
        shown = self._url(url) if isinstance(url, str) else url
        masked: dict[str, object] = {}
        for name, member in value.items():
            if self.names_secret(name) or (shown != url and name in (_URL, _BODY)):
                secrets.append(member if isinstance(member, str) else str(member))
                masked[name] = shown if name == _URL else MASK
            elif name == _HEADERS and isinstance(member, dict):
                masked[name] = self._masked_headers(member, secrets)
            else:
                masked[name] = self._masked(member, secrets)
        return masked

    def _masked_headers(
        self, headers: Mapping[str, object], secrets: list[str]
    ) -> Mapping[str, str]:
        masked = {name: self._of_header(name, str(value)) for name, value in headers.items()}
        secrets += [str(value) for name, value in headers.items() if masked[name] != value]
        return masked


def _decoded(name: str) -> str:
    if "%" not in name and "+" not in name:
        return name
    for _ in range(_DECODINGS):
        name = unquote_plus(name)
    return name


def _selects(name: str, value: str) -> bool:
    """Whether an option is a list of names, which contains no value."""
    is_select = unquote_plus(name).strip().lower() in (_SELECT, _SELECT[1:])
    return is_select and _SELECTED.fullmatch(unquote_plus(value)) is not None
