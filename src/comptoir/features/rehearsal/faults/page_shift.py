"""Records that move to another page while a list is read."""

import msgspec
from typing_extensions import override

from comptoir.features.rehearsal.faults.fault import (
    AffectedRequest,
    Candidate,
    Fault,
    Perform,
    parameter,
)
from comptoir.features.rehearsal.faults.response import whole
from comptoir.response.response import Response

_PAGE = dict[str, msgspec.Raw]
_RECORDS = list[msgspec.Raw]


class PageShift(Fault):
    """Records appear or vanish between two pages."""

    name = "page-shift"
    methods = frozenset({"GET"})
    n: int = parameter(
        "The records that the next page repeats, or skips if negative.", 1, -100, 100
    )

    @override
    def can_meet(self, asked: Candidate) -> bool:
        return asked.page > 1

    @override
    async def act(self, affected: AffectedRequest, perform: Perform) -> Response:
        response = await perform()
        page = msgspec.json.decode(await whole(response), type=_PAGE)
        listed = msgspec.json.decode(page["value"], type=_RECORDS)
        if self.n > 0:
            earlier = msgspec.structs.replace(affected.request, query=affected.previous)
            content = await whole(await affected.service.handle(earlier))
            before = msgspec.json.decode(content, type=_PAGE)
            listed = msgspec.json.decode(before["value"], type=_RECORDS)[-self.n :] + listed
        else:
            listed = listed[-self.n :]
        page["value"] = msgspec.Raw(msgspec.json.encode(listed))
        response.body = msgspec.json.encode(page)
        return response
