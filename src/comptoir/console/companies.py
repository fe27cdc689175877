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
    backend: Backend, principal: Principal, wanted: str | None, last: str
) -> tuple[Sequence[CompanyChoice] | None, CompanyChoice | None]:
    """The companies by name, None if the database does not answer, and the chosen one.

    That is the one with the id `wanted`. If None is wanted, it is the one with the id `last`, or
    the first one if the user cannot choose that.
    """
    path = f"/{backend.model.companies.name}"
    try:
        async with asyncio.timeout(QUICK_SECONDS):
            listed = await _listed(backend, principal, path, "")
            sought = last if wanted is None else wanted
            chosen = next((each for each in listed if each.id == sought.lower()), None)
            if chosen is None and is_guid(sought):
                chosen = next(iter(await _listed(backend, principal, path, sought)), None)
    except (Refusal, TimeoutError):
        return None, None
    if chosen is not None and chosen not in listed:
        listed = [chosen, *listed]
    if chosen is None and wanted is None:
        chosen = next(iter(listed), None)
    return listed, chosen


async def _listed(
    backend: Backend, principal: Principal, path: str, company_id: str
) -> Sequence[CompanyChoice]:
    options = {"$select": "id,name", "$orderby": "name", "$top": str(MOST_CHOICES)}
    if company_id:
        options["$filter"] = f"id eq {company_id}"
    response = await backend.answer(principal, "GET", path, urlencode(options))
    return msgspec.json.decode(await body_of(response), type=_List).value
