"""Batches in JSON (OData JSON Format 4.01, section 19.1).

Of the language of `if`, the outcomes of earlier requests are supported, `$<id>/$succeeded`, with
`and`, `or`, `not` and parentheses.
"""

import binascii
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec.json import Decoder

from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.errors.refusal import Refusal
from comptoir.request.batch import tree
from comptoir.request.headers import BLANKS, Headers, lowered
from comptoir.request.payload import MEMBERS, UNCOUNTED_BYTES, check_values, json_error, repeated

DEEPEST_CONDITION = 20
"""Levels of parentheses and `not` in an `if`."""

LONGEST_CONDITION = 2_500
"""Characters of an `if`."""

MOST_VALUES = 1_000_000
"""The most values in a long batch, all its requests together."""

_OUTCOME = r"\$([\w.~-]+)/\$succeeded\b"

_MEMBERS = frozenset(
    {"id", "method", "url", "headers", "body", "atomicityGroup", "dependsOn", "if"}
)
_FIELD_BYTES = len(": \r\n")

T = TypeVar("T")

_TEXT = Decoder(str)
_TEXTS = Decoder(list[str])
_ARRAY = Decoder(list[msgspec.Raw])


def parse_documents(body: bytes, limits: tree.BatchLimits, roots: tree.Roots) -> tree.Batch:
    """The batch in a JSON object with `requests`; raises `Refusal` with the place of an error."""
    if len(body) > UNCOUNTED_BYTES:
        check_values(body, MOST_VALUES)
    document = _members(body, tree.BODY, 'an object such as {"requests": []}')
    _check_names(document, frozenset({"requests"}), tree.BODY)
    if "requests" not in document:
        raise rows.NO_REQUESTS()
    listed = _decoded(_ARRAY, document["requests"], "requests", "an array of objects")
    if len(listed) > limits.requests:
        raise rows.LONG_BATCH(limit=limits.requests)
    parts: list[tuple[str | None, tree.Part]] = []
    ids: set[str] = set()
    for number, raw in enumerate(listed, 1):
        reader = _RequestReader(raw, number, limits, roots)
        part = reader.part()
        if part.id in ids:
            raise tree.refuse_part(rows.BATCH_ID_TWICE, part.place, id=part.id)
        if part.id is not None:
            ids.add(part.id)
        parts.append((reader.group(), part))
    return tree.checked(_grouped(parts, ids))


class _RequestReader:
    """Reads one request of a batch."""

    def __init__(
        self, raw: msgspec.Raw, number: int, limits: tree.BatchLimits, roots: tree.Roots
    ) -> None:
        self._number = number
        self._place = f"requests[{number - 1}]"
        self._limits = limits
        self._roots = roots
        self._members = _members(raw, self._place, "an object")
        _check_names(self._members, _MEMBERS, self._place)

    def group(self) -> str | None:
        """The name of the request's atomicity group."""
        name = self._text("atomicityGroup")
        return None if name is None else tree.read_id(name, self._place)

    def part(self) -> tree.Part:
        place = self._place
        given = {name: self._text(name) for name in ("id", "method", "url", "if")}
        for name in ("id", "method", "url") if self._limits.ids else ("method", "url"):
            if given[name] is None:
                raise tree.refuse_part(rows.MISSING_MEMBER, place, member=name)
        method = tree.read_method(given["method"] or "", self._limits, place)
        tree.check_url_size(len(given["url"] or ""), self._limits, place)
        headers = self._headers()
        body = tree.check_body(method, self._body(headers), place)
        if body and b"content-type" not in headers:
            headers = {**headers, b"content-type": b"application/json"}
        depends_on = self._member("dependsOn", _TEXTS, "an array of ids") or []
        if len(depends_on) > self._limits.requests:
            most = self._limits.requests
            raise tree.refuse_part(rows.TOO_MANY_IDS, f"{place}.dependsOn", most=most)
        part_id, condition = given["id"], given["if"]
        return tree.Part(
            self._number,
            place,
            None if part_id is None else tree.read_id(part_id, place),
            method,
            tree.parse_address(given["url"] or "", self._roots, place),
            headers,
            body,
            tuple(depends_on),
            None if condition is None else _condition(condition, f"{place}.if"),
        )

    def _headers(self) -> Headers:
        place = f"{self._place}.headers"
        headers: dict[bytes, bytes] = {}
        if not self._is_given("headers"):
            return headers
        wanted = "an object of strings"
        for name, raw in _members(self._members["headers"], place, wanted).items():
            text = _decoded(_TEXT, raw, place, wanted)
            key, value = lowered(name).encode(), text.strip(BLANKS).encode()
            tree.check_header(key, value, place)
            if key in headers:
                raise tree.refuse_part(rows.BATCH_MEMBER_TWICE, place, member=name)
            headers[key] = value
        size = sum(len(name) + len(value) + _FIELD_BYTES for name, value in headers.items())
        if size > self._limits.header_bytes or len(headers) > tree.MOST_FIELDS:
            raise tree.head_too_large(place, self._limits.header_bytes)
        if b"transfer-encoding" in headers:
            raise tree.not_supported("Transfer-Encoding in a batch", place)
        return headers

    def _body(self, headers: Headers) -> bytes | None:
        declared = headers.get(b"content-type", b"application/json").decode("latin-1")
        media = declared.partition(";")[0].strip().lower()
        if media == "application/json" or media.endswith("+json"):
            return bytes(self._members["body"]) if self._is_given("body") else None
        text = self._member("body", _TEXT, f"a string, since its media type is {quoted(media)}")
        if text is None or media.startswith("text/"):
            return None if text is None else text.encode()
        try:
            return urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except (binascii.Error, ValueError):
            raise tree.refuse_part(rows.NOT_BASE64, f"{self._place}.body", media=media) from None

    def _text(self, name: str) -> str | None:
        return self._member(name, _TEXT, 'a string, such as "1"')

    def _member(self, name: str, decoder: Decoder[T], wanted: str) -> T | None:
        """The value of a member; None if it is missing or null."""
        if not self._is_given(name):
            return None
        return _decoded(decoder, self._members[name], f"{self._place}.{name}", wanted)

    def _is_given(self, name: str) -> bool:
        return name in self._members and bytes(self._members[name]) != b"null"


def _grouped(parts: list[tuple[str | None, tree.Part]], ids: set[str]) -> list[tree.Item]:
    items: list[tree.Item] = []
    names: set[str] = set()
    for name, part in parts:
        last = items[-1] if items else None
        if name is None:
            items.append(part)
            continue
        if part.method == "GET":
            raise tree.not_supported("A GET in an atomicity group", part.place)
        if isinstance(last, tree.Group) and last.name == name:
            items[-1] = tree.Group(name, (*last.parts, part))
        elif name in names:
            raise tree.refuse_part(rows.GROUP_APART, part.place, group=name)
        elif name in ids:
            raise tree.refuse_part(rows.GROUP_HAS_ID, part.place, group=name)
        else:
            names.add(name)
            items.append(tree.Group(name, (part,)))
    return items


def _check_names(members: Mapping[str, msgspec.Raw], known: frozenset[str], place: str) -> None:
    for name in members:
        if name not in known and "@" not in name:
            members_text = ", ".join(sorted(known))
            raise tree.refuse_part(rows.UNKNOWN_MEMBER, place, member=name, members=members_text)


def _members(raw: bytes | msgspec.Raw, place: str, wanted: str) -> dict[str, msgspec.Raw]:
    """The members of an object; raises `Refusal` (400) if one is given twice."""
    named = _decoded(MEMBERS, raw, place, wanted)
    members = {name.text: value for name, value in named.items()}
    if len(members) < len(named):
        raise tree.refuse_part(rows.BATCH_MEMBER_TWICE, place, member=str(repeated(named)))
    return members


def _decoded(decoder: Decoder[T], raw: bytes | msgspec.Raw, place: str, wanted: str) -> T:
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        raise tree.refuse_part(rows.BATCH_JSON_TYPE, place, wanted=wanted) from None
    except UnicodeDecodeError:
        raise tree.refuse_part(rows.BATCH_JSON_NOT_UTF_8, place) from None
    except msgspec.DecodeError as error:
        raise tree.refuse_part(rows.BATCH_JSON, place, reason=json_error(error)) from None
    except RecursionError:
        raise tree.refuse_part(rows.BATCH_JSON_TOO_DEEP, place) from None


def _condition(text: str, place: str) -> tree.Condition:
    """The condition in an `if`; raises `Refusal`: 501 if it is unsupported, 400 if malformed."""
    if len(text) > LONGEST_CONDITION:
        raise tree.refuse_part(rows.LONG_CONDITION, place, limit=LONGEST_CONDITION)
    reader = _ConditionReader(text, place, {})
    reader.whole()
    return tree.Condition(text, frozenset(reader.ids))


def holds(condition: tree.Condition, succeeded: Mapping[str, bool]) -> bool:
    """Whether a condition is true, given the outcomes of earlier requests."""
    return _ConditionReader(condition.text, "", succeeded).whole()


class _ConditionReader:
    """Evaluates a condition while it reads it; `ids` are those that it names."""

    def __init__(self, text: str, place: str, succeeded: Mapping[str, bool]) -> None:
        self._text = text
        self._place = place
        self._succeeded = succeeded
        self.ids: set[str] = set()
        self._position = 0

    def whole(self) -> bool:
        """Whether the condition is true; raises `Refusal` (400, 501)."""
        is_true = self._any(0)
        if self._text[self._position :].strip():
            raise self._unexpected()
        return is_true

    def _any(self, depth: int) -> bool:
        is_true = self._all(depth)
        while self._take(r"((?i:or))\b"):
            is_true = self._all(depth) or is_true
        return is_true

    def _all(self, depth: int) -> bool:
        is_true = self._single(depth)
        while self._take(r"((?i:and))\b"):
            is_true = self._single(depth) and is_true
        return is_true

    def _single(self, depth: int) -> bool:
        if depth > DEEPEST_CONDITION:
            raise tree.refuse_part(rows.DEEP_CONDITION, self._place, limit=DEEPEST_CONDITION)
        if self._take(r"((?i:not))\b"):
            return not self._single(depth + 1)
        if word := self._take(r"((?i:true|false))\b"):
            return word.lower() == "true"
        if earlier := self._take(_OUTCOME):
            self.ids.add(earlier)
            return self._succeeded.get(earlier, False)
        if self._take(r"(\()"):
            is_true = self._any(depth + 1)
            if self._take(r"(\))"):
                return is_true
        raise self._unexpected()

    def _take(self, form: str) -> str:
        """Step over blanks and a text of this form; returns its group, empty if it is not next."""
        found = re.compile(rf"\s*{form}", re.ASCII).match(self._text, self._position)
        if found is None:
            return ""
        self._position = found.end()
        return found[1]

    def _unexpected(self) -> Refusal:
        rest = self._text[self._position :].strip()
        if not rest or rest[0] in "()":
            return tree.refuse_part(rows.MALFORMED_CONDITION, self._place)
        return tree.not_supported(
            f"{quoted(rest)} (beyond $<id>/$succeeded, and, or, not and parentheses)", self._place
        )
