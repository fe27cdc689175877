"""The head of a request: its version, framing, host and target (RFC 9112)."""

import re
from collections.abc import Sequence
from functools import lru_cache

from comptoir.errors import BAD_REQUEST, NOT_IMPLEMENTED, Refusal
from comptoir.http.refusing import other_version

_NAME = rb"[\w.~!$&'()*+,;=-]*(?:%[0-9A-Fa-f]{2}[\w.~!$&'()*+,;=-]*)*"
_ADDRESS = rb"\[(?:[0-9A-Fa-f:.]+|v[0-9A-Fa-f]+\.[\w.~!$&'()*+,;=:-]+)\]"
_AUTHORITY = rb"(?:" + _ADDRESS + rb"|" + _NAME + rb")(?::[0-9]*)?"
_HOST = re.compile(_AUTHORITY)
_ABSOLUTE = re.compile(rb"https?://(?=[^:/?#])" + _AUTHORITY + rb"(?=[/?]|$)", re.IGNORECASE)
_SHOWN = 60


def check_head(version: str, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Raise `Refusal` (505, 501, 400) for a head whose request cannot be answered.

    Names of headers are in lower case.
    """
    if version not in ("1.1", "1.0"):
        raise other_version(f"HTTP/{version}")
    values = dict(headers)
    if b"transfer-encoding" in values:
        for name, value in headers:
            if name == b"transfer-encoding":
                _check_coding(version, value)
    host = values.get(b"host")
    if host is None:
        # a client of HTTP/1.0 need not send one (RFC 9112, 3.2)
        if version == "1.1":
            raise _wrong_host("The request has no Host header")
    elif len(values) < len(headers) and [name for name, _ in headers].count(b"host") > 1:
        raise _wrong_host("The request has several Host headers")
    elif not _is_host(host):
        raise _wrong_host(f"{_text(host)!r} is not a host")


def origin_form(method: bytes, target: bytes) -> bytes:
    """The path and query of a request target that is more or less than these (RFC 9112, 3.2).

    Raises `Refusal` (400, 501) for a target that names no resource of ours.
    """
    if method == b"CONNECT":
        raise Refusal(
            NOT_IMPLEMENTED,
            "The service does not support CONNECT, since it is not a proxy. Send requests for its "
            "own resources.",
        )
    if target == b"*":
        return target
    if b"#" in target:
        raise Refusal(
            BAD_REQUEST, "The request target has a #. Send a # of a value as %23, and no fragment."
        )
    absolute = _ABSOLUTE.match(target)
    if absolute is None:
        raise Refusal(
            BAD_REQUEST,
            f"{_text(target)!r} is not a request target. Send a path that begins with a slash, or "
            "a whole URL.",
        )
    path = target[absolute.end() :]
    return path if path.startswith(b"/") else b"/" + path


@lru_cache(maxsize=64)
def _is_host(value: bytes) -> bool:
    return _HOST.fullmatch(value) is not None


def _check_coding(version: str, value: bytes) -> None:
    if version == "1.0":
        raise Refusal(
            BAD_REQUEST,
            "HTTP/1.0 does not have Transfer-Encoding. Send HTTP/1.1, or the body with its "
            "Content-Length.",
            target="Transfer-Encoding",
        )
    if value.lower() != b"chunked":
        raise Refusal(
            NOT_IMPLEMENTED,
            f"Transfer-Encoding {_text(value)!r} is not supported. Send the body as it is, "
            "chunked or with its Content-Length.",
            target="Transfer-Encoding",
        )


def _wrong_host(fault: str) -> Refusal:
    return Refusal(
        BAD_REQUEST,
        f"{fault}. Send one Host header, with the host and port of the URL (RFC 9112, 3.2).",
        target="Host",
    )


def _text(value: bytes) -> str:
    return value[:_SHOWN].decode("latin-1")
