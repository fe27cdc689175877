"""Sends batches and reads the responses, without code of the service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from typing import TypeVar

import httpx
import msgspec

from support.client import Client
from support.refusals import Error, error_in

Entry = Mapping[str, object]

T = TypeVar("T")

MULTIPART = "multipart/mixed; boundary=batch_1"
HTTP = "Content-Type: application/http\nContent-Transfer-Encoding: binary\n"


class Reply(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A response in a batch in JSON."""

    status: int
    headers: Mapping[str, str]
    id: str = ""
    atomicity_group: str = ""
    body: msgspec.Raw = msgspec.Raw(b"")

    @property
    def error(self) -> Error:
        return error_in(bytes(self.body))

    def read(self, type_: type[T]) -> T:
        """The body, as a type."""
        return msgspec.json.decode(self.body, type=type_)


class _Replies(msgspec.Struct, forbid_unknown_fields=True):
    responses: list[Reply]


@dataclass(frozen=True)
class Part:
    """A part of a response in multipart/mixed: a response, or the parts of a change set."""

    content_id: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    parts: "Sequence[Part]" = ()


def send_documents(
    client: Client, requests: Sequence[Entry], headers: Mapping[str, str] | None = None
) -> httpx.Response:
    """Send a batch in JSON."""
    return client.post("$batch", {"requests": requests}, headers)


def documents(
    client: Client, *requests: Entry, headers: Mapping[str, str] | None = None
) -> dict[str, Reply]:
    """The responses to a batch in JSON, by the ids of the requests."""
    listed = replies(send_documents(client, requests, headers))
    by_id = {reply.id: reply for reply in listed}
    assert len(by_id) == len(listed)
    return by_id


def replies(answer: httpx.Response) -> list[Reply]:
    """The responses in a batch response in JSON."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].partition(";")[0] == "application/json"
    return msgspec.json.decode(answer.content, type=_Replies).responses


def send_multipart(
    client: Client,
    text: str | bytes,
    headers: Mapping[str, str] | None = None,
    content_type: str = MULTIPART,
) -> httpx.Response:
    """Send a batch in multipart/mixed; CRLF ends the lines of a text."""
    body = text.replace("\n", "\r\n").encode() if isinstance(text, str) else text
    return client.request(
        "POST", "$batch", body=body, headers={"Content-Type": content_type, **(headers or {})}
    )


def multipart(
    client: Client, text: str, headers: Mapping[str, str] | None = None
) -> Sequence[Part]:
    """The parts of the response to a batch in multipart/mixed."""
    return parts(send_multipart(client, text, headers))


def parts(answer: httpx.Response) -> Sequence[Part]:
    """The parts of a batch response in multipart/mixed."""
    assert answer.status_code == 200, answer.text
    head = f"Content-Type: {answer.headers['content-type']}\r\n\r\n".encode()
    message = message_from_bytes(head + answer.content)
    assert message.epilogue == ""
    return _parts(message)


def _parts(message: Message) -> Sequence[Part]:
    assert message.get_content_type() == "multipart/mixed"
    payload = message.get_payload()
    assert isinstance(payload, list) or not payload
    return [_part(each) for each in payload or () if isinstance(each, Message)]


def _part(message: Message) -> Part:
    if message.get_content_type() == "multipart/mixed":
        return Part("", 0, {}, b"", _parts(message))
    assert message.get_content_type() == "application/http"
    content = message.get_payload(decode=True)
    assert isinstance(content, bytes)
    head, _, body = content.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    version, status, phrase = lines[0].split(" ", 2)
    assert (version, bool(phrase)) == ("HTTP/1.1", True)
    fields = [line.partition(": ") for line in lines[1:]]
    headers = {name.lower(): value for name, _, value in fields}
    length = headers.get("content-length")
    assert length is None or int(length) == len(body)
    return Part(str(message.get("content-id", "")), int(status), headers, body)
