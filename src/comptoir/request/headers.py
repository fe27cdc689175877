"""The headers that operations heed (RFC 9110, RFC 7240, OData Protocol 4.01, section 8.2)."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from comptoir.errors import BAD_REQUEST, ISOLATION_NOT_SUPPORTED, Refusal

Headers = Mapping[bytes, bytes]
"""Lower-case names to values; repeated headers are joined by commas."""

_ENTITY_TAG = re.compile(rb'\s*(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*')
_VERSION = re.compile(rb"(\d{1,3})\.(\d{1,3})")
_SPOKEN = ((4, 0), (4, 1))
_OLD_VERSIONS = (
    (b"maxdataserviceversion", "MaxDataServiceVersion"),
    (b"dataserviceversion", "DataServiceVersion"),
)


def combined(pairs: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Headers as the server hands them over, repeated ones joined (RFC 9110, 5.2)."""
    held = dict(pairs)
    if len(held) == len(pairs):
        return held
    held.clear()
    for name, value in pairs:
        held[name] = value if name not in held else held[name] + b", " + value
    return held


class EntityTags(msgspec.Struct, frozen=True):
    """The tags of `If-Match` or `If-None-Match`, without their quotes; `any` is the form `*`."""

    any: bool
    opaque: frozenset[str]

    def hold(self, opaque: str) -> bool:
        """Whether a record's tag is among them, by weak comparison (RFC 9110, 8.8.3.2)."""
        return self.any or opaque in self.opaque


def entity_tags(headers: Headers, name: bytes) -> EntityTags | None:
    """Read `If-Match` or `If-None-Match`, None when not sent; `Refusal` (400) for nonsense."""
    value = headers.get(name)
    if value is None:
        return None
    if value.strip() == b"*":
        return EntityTags(any=True, opaque=frozenset())
    tags: set[str] = set()
    position = 0
    while True:
        match = _ENTITY_TAG.match(value, position)
        if match is None:
            break
        tags.add(match[1].decode("latin-1"))
        position = match.end()
        if position == len(value):
            return EntityTags(any=False, opaque=frozenset(tags))
        if value[position : position + 1] != b",":
            break
        position += 1
    header = name.decode().title()
    raise Refusal(
        BAD_REQUEST,
        f'{header} must be *, or entity tags such as W/"…" separated by commas. '
        "Send the record's @odata.etag as it was received, quotes included.",
        target=header,
    )


def entity_tag(text: str) -> EntityTags | None:
    """One tag as a text, such as the value of `@odata.etag`; None for a text that is not a tag."""
    match = _ENTITY_TAG.fullmatch(text.encode())
    if match is None:
        return None
    return EntityTags(any=False, opaque=frozenset({match[1].decode("latin-1")}))


def check_versions(headers: Headers) -> None:
    """Raise `Refusal` (400) for a version of OData that the service does not speak.

    `OData-Version` is 4.0 or 4.01, `OData-MaxVersion` 4.0 or later (OData Protocol 4.01, 8.1.5 and
    8.2.7). A client of OData 2.0 or 3.0 names its version in other headers, and is told so.
    """
    version, highest = headers.get(b"odata-version"), headers.get(b"odata-maxversion")
    if version is not None and version != b"4.0" and _version(version) not in _SPOKEN:
        raise _unspoken("OData-Version", version)
    if highest is not None:
        if highest != b"4.0":
            _check_highest("OData-MaxVersion", highest)
    elif version is None:
        for name, title in _OLD_VERSIONS:
            if name in headers:
                _check_highest(title, headers[name])


def check_isolation(headers: Headers) -> None:
    """Raise `Refusal` (412) for a request that asks for a snapshot (OData Protocol 4.01, 8.2.6)."""
    for name in (b"isolation", b"odata-isolation"):
        if name in headers:
            raise Refusal(
                ISOLATION_NOT_SUPPORTED,
                f"The service does not support {name.decode().title()}: "
                f"{headers[name].decode('latin-1')[:40]}. Nothing was done; send the request "
                "without it.",
                target=name.decode().title(),
            )


def speaks_401(headers: Headers) -> bool | None:
    """Whether `OData-MaxVersion` allows answers of 4.01; None when it is not sent.

    Then the client leaves the version to the service (OData Protocol 4.01, 8.2.7).
    """
    highest = headers.get(b"odata-maxversion")
    if highest is None:
        return None
    held = _version(highest)
    return held is not None and held >= _SPOKEN[1]


def _version(text: bytes) -> tuple[int, int] | None:
    # a client's name may stand behind it, as in 4.0;NetFx
    match = _VERSION.fullmatch(text.partition(b";")[0].strip())
    return None if match is None else (int(match[1]), int(match[2]))


def _check_highest(target: str, sent: bytes) -> None:
    held = _version(sent)
    if held is None or held < _SPOKEN[0]:
        raise _unspoken(target, sent)


def _unspoken(target: str, sent: bytes) -> Refusal:
    return Refusal(
        BAD_REQUEST,
        f"The service speaks OData 4.0 and 4.01, not {sent.decode('latin-1')[:20]!r}. Use a client "
        "of OData 4, which sends OData-Version: 4.0 and OData-MaxVersion: 4.0 or 4.01, or leave "
        "these headers out.",
        target=target,
    )


def names_protocol(headers: Headers) -> bool:
    """Whether the request comes from an OData client: it names the protocol's version."""
    return b"odata-version" in headers or b"odata-maxversion" in headers
