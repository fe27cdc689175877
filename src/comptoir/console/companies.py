"""The companies that a user of the console may choose."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlencode

import msgspec

from comptoir.auth.principal import Principal
from comptoir.console.backend import QUICK_SECONDS, Backend, body_of
from comptoir.console.visit import CompanyChoice
from comptoir.edm.types import is_guid
from comptoir.errors import Refusal

MOST_CHOICES = 200
"""The most companies that the selector lists."""


class _List(msgspec.Struct):
    value: list[CompanyChoice]


async def company_choices(
    backend: Backend, principal: Principal, wanted: str
) -> tuple[Sequence[CompanyChoice] | None, CompanyChoice | None]:
    """The companies by name, None if the database does not answer, and the wanted or first one."""
    path = f"/{backend.model.companies.name}"
    try:
        async with asyncio.timeout(QUICK_SECONDS):
            listed = await _listed(backend, principal, path, "")
            chosen = next((each for each in listed if each.id == wanted.lower()), None)
            if chosen is None and is_guid(wanted):
                chosen = next(iter(await _listed(backend, principal, path, wanted)), None)
    except (Refusal, TimeoutError):
        return None, None
    if chosen is not None and chosen not in listed:
        listed = [chosen, *listed]
    return listed, chosen or next(iter(listed), None)


async def _listed(
    backend: Backend, principal: Principal, path: str, company_id: str
) -> Sequence[CompanyChoice]:
    options = {"$select": "id,name", "$orderby": "name", "$top": str(MOST_CHOICES)}
    if company_id:
        options["$filter"] = f"id eq {company_id}"
    response = await backend.answer(principal, "GET", path, urlencode(options))
    return msgspec.json.decode(await body_of(response), type=_List).value
