"""The URLs of requests in a batch (OData Protocol 4.01, 11.7.7.1; JSON Format 4.01, 19.1)."""

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

import msgspec

from comptoir.request.batch.faults import malformed

BATCH = "$batch"

_ORIGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^/?]*)(.*)", re.DOTALL)
_REFERENCE = re.compile(r"\$([\w.~-]+)", re.ASCII)
_VALUE = re.compile(r"(?<![/\w])\$([\w.~-]+)", re.ASCII)
_SYSTEM_RESOURCES = frozenset({BATCH, "$crossjoin", "$all", "$entity", "$root", "$id", "$metadata"})
_DEFAULT_PORTS = ("http://", ":80"), ("https://", ":443")
_PLAIN = re.compile(r"[\x21-\x7e]*")
# whatever is printable ASCII stands for itself; the rest is encoded as UTF-8
_KEPT = "".join(map(chr, range(0x21, 0x7F)))


class Address(msgspec.Struct, frozen=True):
    """Where a request goes: `path` below the base path, `query`, both percent-encoded.

    With a `reference`, the id of an earlier request, `path` continues that request's record.
    """

    path: str
    query: str
    reference: str | None = None


class Roots(msgspec.Struct, frozen=True):
    """Which URLs lead to this service.

    `origins` are scheme and authority, as `origin` gives them; `base_paths` stand before every
    path; `root` is the path of the service root that the batch was sent to, below the base path:
    empty, or `/companies(…)`.
    """

    origins: frozenset[str]
    base_paths: tuple[str, ...]
    root: str


def origin(url: str) -> str:
    """Scheme and authority of an absolute URL in one spelling; empty for another URL."""
    match = _ORIGIN.fullmatch(url)
    if match is None:
        return ""
    lowered: str = match[1].lower()
    for scheme, port in _DEFAULT_PORTS:
        if lowered.startswith(scheme):
            return lowered.removesuffix(port)
    return lowered


def parse_address(url: str, roots: Roots, place: str) -> Address:
    """Read a URL: relative to the service root, an absolute path, or an absolute URL.

    An absolute path that does not begin with a base path begins at the service root, as some
    clients write it. Raises `Refusal` (400) for the URL of another service, for one that cannot
    be read, and for a batch within the batch.
    """
    text = url if _PLAIN.fullmatch(url) else quote(url, safe=_KEPT)
    if "#" in text:
        raise malformed(place, "its URL holds a #. Encode it as %23.")
    if text.startswith("//"):
        raise malformed(place, "its URL begins with two slashes. Begin with one, or with none.")
    path, _, query = _below_base(text, roots, place).partition("?")
    inner = path.removeprefix(roots.root) if _is_below(path, roots.root) else path
    first, slash, rest = inner.removeprefix("/").partition("/")
    if unquote(inner).rstrip("/").endswith("/" + BATCH):
        raise malformed(place, f"a batch must not hold a batch. Send the parts of its {BATCH}.")
    match = _REFERENCE.fullmatch(unquote(first))
    if match is None or match[0] in _SYSTEM_RESOURCES:
        return Address(path, query)
    return Address(slash + rest, query, match[1])


def referenced_values(query: str, ids: Iterable[str]) -> str | None:
    """The first `$<id>` of another request that stands in a value of a query string."""
    known = frozenset(ids)
    for option in query.split("&"):
        value = unquote(option.partition("=")[2].replace("+", " "))
        outside_quotes = "".join(value.split("'")[::2])
        for match in _VALUE.finditer(outside_quotes):
            if match[1] in known:
                return match[0]
    return None


def _below_base(text: str, roots: Roots, place: str) -> str:
    match = _ORIGIN.fullmatch(text)
    if match is not None:
        if origin(text) in roots.origins:
            for base in roots.base_paths:
                if _is_below(match[2], base):
                    return match[2].removeprefix(base)
        raise malformed(
            place,
            f"its URL {text[:80]!r} is not one of this service. Send it relative to the URL of "
            "the service.",
        )
    if text.startswith("/"):
        for base in roots.base_paths:
            if _is_below(text, base):
                return text.removeprefix(base)
        if roots.root and _is_below(text, roots.root):
            return text
        return roots.root + text
    return f"{roots.root}/{text}"


def _is_below(path: str, base: str) -> bool:
    return path.startswith(base) and path[len(base) : len(base) + 1] in ("", "/", "?")
