"""The body of the answer is not the expected JSON."""

from collections.abc import Sequence

from typing_extensions import override

from comptoir.features.rehearsal.faults.fault import AffectedRequest, Fault, word
from comptoir.features.rehearsal.traps import Trap
from comptoir.response.response import Response, whole_body

_XML_ERROR = (
    b'<?xml version="1.0" encoding="utf-8"?>'
    b'<error xmlns="http://docs.oasis-open.org/odata/ns/metadata"><code>Unknown</code>'
    b"<message>An error occurred while processing the request.</message></error>"
)
_EMPTY_ERROR = b'{"error":{"code":"Unknown","message":""}}'


class _Body(Fault):
    kind: str = word(
        "Truncated JSON, an error in XML, or 500 with an empty message.",
        "truncated",
        "xml",
        "empty",
    )

    @override
    def traps(self) -> Sequence[Trap]:
        return (Trap.GATEWAY_PAGE,) if self.kind == "xml" else ()

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.kind == "xml":
            return Response(500, [(b"content-type", b"application/xml")], _XML_ERROR)
        if self.kind == "empty":
            return Response(500, [(b"content-type", b"application/json")], _EMPTY_ERROR)
        response = await affected.perform()
        body = await whole_body(response)
        response.body = body[: len(body) // 2]
        return response
