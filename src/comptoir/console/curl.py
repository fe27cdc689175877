"""Requests as commands of `curl`, for a POSIX shell."""

from collections.abc import Mapping
from shlex import quote

_GLOBBED = frozenset("[]{}")
"""Characters of a URL that curl expands without an option against it."""


def curl(method: str, url: str, headers: Mapping[str, str], body: str = "") -> str:
    """A command that sends a request with the bearer token in the variable `TOKEN`."""
    words = ["curl -sS"]
    if method == "HEAD":
        # with another method, curl would wait for a body
        words.append("--head")
    elif method != "GET":
        words.append(f"-X {quote(method)}")
    if not _GLOBBED.isdisjoint(url):
        words.append("--globoff")
    words.append('-H "Authorization: Bearer $TOKEN"')
    words += [f"-H {quote(f'{name}: {value}')}" for name, value in headers.items()]
    if body:
        words.append(f"--data-raw {quote(body)}")
    # %27 is easier to read than a quote that is escaped for the shell
    words.append(quote(url.replace("'", "%27")))
    return " ".join(words)
