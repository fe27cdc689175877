"""Checks of the head of a request, before it is processed."""

from collections.abc import Mapping

from support.databases import ON_SQLITE
from support.refusals import refusal
from support.server import Server
from support.sockets import ask, head, read_answers, send
from support.together import together

GET = "GET /healthz HTTP/1.1"
POST = "POST /healthz HTTP/1.1"
CODED = [POST, "Host: a"]
CODING = "Transfer-Encoding"
UNSUPPORTED = "BadRequest_MethodNotImplemented"

pytestmark = ON_SQLITE  # what happens on a socket does not depend on the database

REFUSED: Mapping[str, tuple[str, str | None, list[str]]] = {
    "no host": ("BadRequest", "Host", [GET]),
    "two hosts": ("BadRequest", "Host", [GET, "Host: a", "Host: b"]),
    "one host twice": ("BadRequest", "Host", [GET, "Host: a", "Host: a"]),
    "two hosts of HTTP/1.0": ("BadRequest", "Host", ["GET / HTTP/1.0", "Host: a", "Host: a"]),
    "hosts in a list": ("BadRequest", "Host", [GET, "Host: a, b"]),
    "a host with a path": ("BadRequest", "Host", [GET, "Host: a/b"]),
    "a host with a user": ("BadRequest", "Host", [GET, "Host: user@a"]),
    "a host with a scheme": ("BadRequest", "Host", [GET, "Host: http://a"]),
    "a host with a blank": ("BadRequest", "Host", [GET, "Host: a b"]),
    "a host with non-ASCII letters": ("BadRequest", "Host", [GET, "Host: b\xfccher.example"]),
    "a port that is not a number": ("BadRequest", "Host", [GET, "Host: a:http"]),
    "two ports": ("BadRequest", "Host", [GET, "Host: a:1:2"]),
    "an address without brackets": ("BadRequest", "Host", [GET, "Host: ::1"]),
    "an open bracket": ("BadRequest", "Host", [GET, "Host: [::1"]),
    "an absolute URL without a host": ("BadRequest", "Host", ["GET http://a/healthz HTTP/1.1"]),
    "a URL without a host": ("BadRequest", None, ["GET http:///healthz HTTP/1.1", "Host: a"]),
    "a URL with a user": ("BadRequest", None, ["GET http://u@a/healthz HTTP/1.1", "Host: a"]),
    "a URL of another scheme": ("BadRequest", None, ["GET ftp://a/healthz HTTP/1.1", "Host: a"]),
    "a fragment": ("BadRequest", None, ["GET /healthz#x HTTP/1.1", "Host: a"]),
    "HTTP/2": ("Request_HttpVersionNotSupported", None, ["GET / HTTP/2.0", "Host: a"]),
    "the preface of HTTP/2": ("Request_HttpVersionNotSupported", None, ["PRI * HTTP/2.0"]),
    "HTTP/3": ("Request_HttpVersionNotSupported", None, ["GET / HTTP/3.0", "Host: a"]),
    "HTTP/9.9": ("Request_HttpVersionNotSupported", None, ["GET / HTTP/9.9", "Host: a"]),
    "HTTP/0.9": ("Request_HttpVersionNotSupported", None, ["GET /healthz"]),
    "a tunnel": (UNSUPPORTED, None, ["CONNECT a:1 HTTP/1.1", "Host: a:1"]),
    "gzip": (UNSUPPORTED, CODING, [*CODED, f"{CODING}: gzip, chunked"]),
    "gzip in two headers": (UNSUPPORTED, CODING, [*CODED, f"{CODING}: gzip", f"{CODING}: chunked"]),
    "gzip alone": (UNSUPPORTED, CODING, [*CODED, f"{CODING}: gzip"]),
    "chunks before gzip": ("BadRequest", None, [*CODED, f"{CODING}: chunked, gzip"]),
    "chunks of 1.0": ("BadRequest", CODING, ["POST /healthz HTTP/1.0", f"{CODING}: chunked"]),
    "a blank before a colon": ("BadRequest", None, [GET, "Host: a", "A : b"]),
    "a folded header": ("BadRequest", None, [GET, "Host: a", "A: b", " c"]),
    "a NUL": ("BadRequest", None, [GET, "Host: a", "A: b\0c"]),
    "a bare line end": ("BadRequest", None, [GET, "Host: a\nA: b"]),
    "a bare carriage return": ("BadRequest", None, [GET, "Host: a", "A: b\rc"]),
    "one length twice": ("BadRequest", None, [POST, "Host: a"] + ["Content-Length: 1"] * 2),
    "a list of lengths": ("BadRequest", None, [POST, "Host: a", "Content-Length: 1, 1"]),
    "a signed length": ("BadRequest", None, [POST, "Host: a", "Content-Length: +1"]),
    "a negative length": ("BadRequest", None, [POST, "Host: a", "Content-Length: -1"]),
    "a length that is not a number": ("BadRequest", None, [POST, "Host: a", "Content-Length: x"]),
    "two lengths": ("BadRequest", None, [*CODED, "Content-Length: 1", "Content-Length: 2"]),
    "length and chunks": ("BadRequest", None, [*CODED, "Content-Length: 1", f"{CODING}: chunked"]),
    "an unknown method": ("BadRequest", None, ["INVENTED / HTTP/1.1", "Host: a"]),
    "no HTTP": ("BadRequest", None, ["hello"]),
    "TLS": ("BadRequest", None, ["\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + "\0" * 50]),
    "a blank in a name": ("BadRequest", None, [GET, "Host: a", "A b: c"]),
    "a header without a colon": ("BadRequest", None, [GET, "Host: a", "nonsense"]),
    "a path that is not ASCII": ("BadRequest", None, ["GET /\xff HTTP/1.1", "Host: a"]),
}


@together("case", REFUSED)
def test_a_malformed_head_is_refused(case: str, either: Server) -> None:
    """The connection ends, so that no bytes after the head are read as a request."""
    code, target, lines = REFUSED[case]
    refused = "\r\n".join([*lines, "", ""]).encode("latin-1")
    with either.connect() as connection:
        send(connection, head("GET", "/healthz", {}) + refused + head("GET", "/healthz", {}) * 2)
        first, answer = read_answers(connection)

    assert first.content == b"ok\n"
    refusal(answer, code, target)
    assert answer.headers["connection"] == "close"


ANSWERED: Mapping[str, list[str]] = {
    "a name": [GET, "Host: a.example"],
    "a name and a port": [GET, "Host: a_b.example:8080"],
    "an address": [GET, "Host: 127.0.0.1:80"],
    "an address in brackets": [GET, "Host: [::1]:80"],
    "escapes": [GET, "Host: b%C3%BCcher.example:"],
    "an empty host": [GET, "Host:"],
    "HTTP/1.0": ["GET /healthz HTTP/1.0"],
    "HTTP/1.0 with a host": ["GET /healthz HTTP/1.0", "Host: a"],
    "an absolute URL": ["GET http://b.example:81/healthz HTTP/1.1", "Host: a"],
    "an absolute URL with a query": ["GET HTTPS://[::1]/healthz?x=y HTTP/1.1", "Host: a"],
    "chunks": [GET, "Host: a", "Transfer-Encoding: Chunked"],
}


@together("case", ANSWERED)
def test_a_valid_head_is_accepted(case: str, either: Server) -> None:
    body = b"0\r\n\r\n" if case == "chunks" else b""
    with either.connect() as connection:
        answer = ask(connection, "\r\n".join([*ANSWERED[case], "", ""]).encode() + body)

    assert answer.content == b"ok\n"


@together(
    ("method", "target"),
    [("GET", "http://a/x"), ("GET", "http://a/x?y=z"), ("OPTIONS", "*"), ("CONNECT", "/x")],
)
def test_an_unknown_target_is_404(method: str, target: str, either: Server) -> None:
    with either.connect() as connection:
        answer = ask(connection, head(method, target, {}))

    refusal(answer, "BadRequest_ResourceNotFound")


@together("target", ["/", "http://a", "http://a?x=y"])
def test_a_target_without_a_path_is_that_of_the_front_page(target: str, either: Server) -> None:
    with either.connect() as connection:
        answer = ask(connection, head("GET", target, {}))

        other = ask(connection, head("CONNECT", "/", {}))

    assert (answer.status_code, answer.json()["name"]) == (200, "Comptoir")
    assert other.status_code == 405
    assert set(other.headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_the_log_contains_nothing_from_a_refused_head(either: Server) -> None:
    with either.connect() as connection:
        answer = ask(connection, head("GET", "ftp://secret-target/?x", {"Host": "secret-host"}))
    refusal(answer, "BadRequest")

    either.wait_for_log(answer.headers["x-request-id"])
    assert "secret-" not in either.log.read_text()
