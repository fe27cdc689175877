"""The readers of batches, with whatever bytes: they read them, or refuse them with a reason."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from comptoir.errors.refusal import Refusal
from comptoir.request.batch.documents import parse_documents
from comptoir.request.batch.multipart import parse_multipart
from comptoir.request.batch.tree import Batch, BatchLimits, Group, Roots

LIMITS = BatchLimits(requests=5, header_bytes=200, change_set=5, ids=True, merge=False)
ROOTS = Roots(frozenset({"http://h"}), ("/api",), "/companies(x)")

TOKENS = (
    *(b"--b", b"--b--", b"--c", b"--c--", b"\r\n", b"\n", b"\n\n", b"\r\n\r\n", b" ", b"\t", b"\0"),
    *(b"\xff", b"{}", b"x", b"Content-ID: 1", b"Content-Length: 2", b"If-Match: $1"),
    *(b"Content-Type: application/http", b"Content-Type: multipart/mixed; boundary=c"),
    *(b"DELETE $1/x", b"content-transfer-encoding:binary", b"GET /api/x HTTP/1.1"),
    *(b"POST http://h/api/x HTTP/1.1", b"PATCH x?$filter=a eq $1/b HTTP/1.1"),
)
PART = (
    b"--b\r\nContent-Type: application/http\r\nContent-ID: 1\r\n\r\n"
    b'POST x HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{"a": 1}\r\n'
)
BODY = (
    PART + b"--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n"
    b"--c\r\nContent-Type: application/http\r\nContent-ID: 2\r\n\r\n"
    b"DELETE $1 HTTP/1.1\r\nIf-Match: *\r\n\r\n\r\n--c--\r\n--b--\r\n"
)


def outcome(read: Callable[[], Batch]) -> Batch | Refusal:
    """What reading a body comes to."""
    try:
        return read()
    except Refusal as refusal:
        return refusal


def check(outcome: Batch | Refusal) -> None:
    """A batch is within its limits, and a refusal is the client's to mend."""
    if isinstance(outcome, Refusal):
        assert 400 <= outcome.error.status < 500 or outcome.error.status == 501
        assert outcome.message
    else:
        assert len(list(outcome.parts)) <= LIMITS.requests


def read(body: bytes, boundary: str = "b") -> Batch | Refusal:
    return outcome(lambda: parse_multipart(body, boundary, LIMITS, ROOTS))


@given(st.lists(st.sampled_from(TOKENS), max_size=40))
@example([PART, b"--b--"])
def test_any_sequence_of_parts_is_read_or_refused(tokens: Sequence[bytes]) -> None:
    check(read(b"".join(tokens)))


@given(st.binary(max_size=200), st.text("bc'()+_,-./:=? ", min_size=1, max_size=5))
def test_any_bytes_are_read_or_refused(body: bytes, boundary: str) -> None:
    check(read(body, boundary))


@given(st.lists(st.integers(0, len(BODY)), max_size=4), st.binary(max_size=3))
def test_a_batch_with_a_change_is_read_or_refused(cuts: Sequence[int], put: bytes) -> None:
    places = [0, *sorted(cuts), len(BODY)]

    check(read(put.join(BODY[begin:end] for begin, end in pairwise(places))))
    check(read(b"".join(BODY[begin:end] for begin, end in list(pairwise(places))[::2])))


@given(
    st.lists(st.binary(max_size=30).filter(lambda body: b"\n--b" not in b"\n" + body), max_size=5),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_bodies_are_read_unchanged(bodies: Sequence[bytes], line_end: bytes) -> None:
    """Whatever their bytes, and whatever ends the lines."""
    head = [b"Content-Type: application/http", b"", b"POST x HTTP/1.1", b""]
    parts = [line_end.join([b"--b", *head, body]) for body in bodies]

    batch = read(line_end.join([*parts, b"--b--"]))

    assert isinstance(batch, Batch)
    # what ends the line before a boundary belongs to the boundary
    ended = [body.removesuffix(b"\r") if line_end == b"\n" else body for body in bodies]
    assert [part.body for part in batch.parts] == ended


def test_a_batch_is_read_into_requests_and_groups() -> None:
    batch = read(BODY)

    assert isinstance(batch, Batch)
    first, second = batch.items
    assert isinstance(second, Group)
    assert not isinstance(first, Group)
    assert (first.method, first.address.path, first.id) == ("POST", "/companies(x)/x", "1")
    assert second.parts[0].address.reference == "1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["1", "$1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "method", "url", "headers", "body", "atomicityGroup", "dependsOn", "if"]
            ),
            inner,
            max_size=8,
        )
    ),
    max_leaves=15,
)
ENTRY = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["1", "2", "3", "a b"]),
        "method": st.sampled_from(["GET", "post", "DELETE"]),
        "url": st.text("$12/x?= '()#", max_size=8),
    },
    optional={
        "headers": st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
        "body": JSON,
        "atomicityGroup": st.sampled_from(["g", "h", "1"]),
        "dependsOn": st.lists(st.sampled_from(["1", "2", "g"]), max_size=2),
        "if": st.text("$12/succed notr()", max_size=12),
    },
)


@given(JSON | st.lists(ENTRY | JSON, max_size=6))
def test_any_document_is_read_or_refused(requests: object) -> None:
    for document in (requests, {"requests": requests}):
        body = msgspec.json.encode(document)
        check(outcome(partial(parse_documents, body, LIMITS, ROOTS)))


@given(st.binary(max_size=100))
@example(b'{"requests": [{"id": "\\ud800", "method": "GET", "url": "\\udfff"}]}')
@example(b'{"requests": [{"id": "1", "method": "GET", "url": "\\udfff"}]}')
def test_any_bytes_are_a_document_or_refused(body: bytes) -> None:
    check(outcome(lambda: parse_documents(body, LIMITS, ROOTS)))


def test_a_condition_with_a_bracket_too_many_is_refused() -> None:
    entry = {"id": "1", "method": "GET", "url": "x", "if": "(true))"}
    with pytest.raises(Refusal) as caught:
        parse_documents(msgspec.json.encode({"requests": [entry]}), LIMITS, ROOTS)
    assert caught.value.message == (
        "The condition is malformed in requests[0].if. Write for example $1/$succeeded and not "
        "($2/$succeeded). No request of the batch was executed."
    )


@pytest.mark.parametrize(
    ("line", "said"), [(b"foo", "has no colon"), (b"a b: c", "characters that HTTP does not allow")]
)
def test_a_broken_header_is_refused_with_its_error(line: bytes, said: str) -> None:
    body = b"--b\r\n" + line + b"\r\n\r\nGET x HTTP/1.1\r\n--b--\r\n"
    with pytest.raises(Refusal, match=said):
        parse_multipart(body, "b", LIMITS, ROOTS)
