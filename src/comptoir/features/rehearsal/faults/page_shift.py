"""Records appear or vanish between two pages."""

import msgspec
from typing_extensions import override

from comptoir.features.rehearsal.faults.fault import AffectedRequest, Candidate, Fault, parameter
from comptoir.response.response import Response, whole_body

_PAGE = dict[str, msgspec.Raw]
_RECORDS = list[msgspec.Raw]


class _PageShift(Fault):
    methods = frozenset({"GET"})
    n: int = parameter(
        "The records that the next page repeats, or skips if negative.", 1, -100, 100
    )

    @override
    def can_meet(self, asked: Candidate) -> bool:
        return asked.page > 1

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        response = await affected.perform()
        page = msgspec.json.decode(await whole_body(response), type=_PAGE)
        listed = msgspec.json.decode(page["value"], type=_RECORDS)
        if self.n > 0:
            earlier = msgspec.structs.replace(affected.request, query=affected.previous)
            content = await whole_body(await affected.service.handle(earlier))
            before = msgspec.json.decode(content, type=_PAGE)
            listed = msgspec.json.decode(before["value"], type=_RECORDS)[-self.n :] + listed
        else:
            listed = listed[-self.n :]
        page["value"] = msgspec.Raw(msgspec.json.encode(listed))
        response.body = msgspec.json.encode(page)
        return response
