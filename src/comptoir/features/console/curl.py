"""Requests as commands of `curl`, for a POSIX shell."""

from collections.abc import Iterable, Mapping
from shlex import quote

_GLOBBED = frozenset("[]{}")
"""Characters of a URL that curl expands without an option against it."""


def curl(method: str, url: str, headers: Mapping[str, str], body: str = "") -> str:
    """A command that sends a request with the bearer token in the variable `TOKEN`."""
    words: list[str] = []
    if method == "HEAD":
        # with another method, curl would wait for a body
        words.append("--head")
    elif method != "GET":
        words.append(f"-X {quote(method)}")
    words.append('-H "Authorization: Bearer $TOKEN"')
    words += [f"-H {quote(f'{name}: {value}')}" for name, value in headers.items()]
    if body:
        words.append(f"--data-raw {quote(body)}")
    # %27 is easier to read than a quote that is escaped for the shell
    return _command(words, url.replace("'", "%27"))


def form_curl(url: str, fields: Mapping[str, str]) -> str:
    """A command that sends a form; a value that begins with `$` is a variable of the shell."""
    texts = [(f"{name}={value}", value.startswith("$")) for name, value in fields.items()]
    words = [f'"{text}"' if is_variable else quote(text) for text, is_variable in texts]
    return _command([f"--data-urlencode {each}" for each in words], url)


def _command(words: Iterable[str], url: str) -> str:
    literally = [] if _GLOBBED.isdisjoint(url) else ["--globoff"]
    return " ".join(["curl -sS", *literally, *words, quote(url)])
