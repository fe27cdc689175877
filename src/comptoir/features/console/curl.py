"""Requests as commands of `curl`, for a POSIX shell."""

from collections.abc import Mapping
from shlex import quote

_GLOBBED = frozenset("[]{}")
"""Characters of a URL that curl expands without an option against it."""


LONGEST_ARGUMENT = 100_000
"""Bytes of a body that a command has as an argument; systems limit those to some 128 KiB."""


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
    document = ""
    if len(body.encode()) > LONGEST_ARGUMENT:
        words.append("--data-binary @-")
        document = _here_document(body)
    elif body:
        words.append(f"--data-raw {quote(body)}")
    # %27 is easier to read than a quote that is escaped for the shell
    words.append(quote(url.replace("'", "%27")))
    return " ".join(words) + document


def form_curl(url: str, fields: Mapping[str, str]) -> str:
    """A command that sends a form; a value that begins with `$` is a variable of the shell."""
    words = ["curl -sS"]
    if not _GLOBBED.isdisjoint(url):
        words.append("--globoff")
    for name, value in fields.items():
        field = f"{name}={value}"
        words.append("--data-urlencode")
        words.append(f'"{field}"' if value.startswith("$") else quote(field))
    return " ".join([*words, quote(url)])


def _here_document(text: str) -> str:
    """The redirection by which a command reads a text, which the shell leaves as it is."""
    end = "END"
    while f"\n{end}\n" in f"\n{text}\n":
        end += "_"
    return f" <<'{end}'\n{text}\n{end}"
