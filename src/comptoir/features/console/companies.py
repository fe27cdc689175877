"""The companies that a user of the console may choose."""

from collections.abc import Sequence
from urllib.parse import urlencode

import msgspec

from comptoir.auth.principal import Principal
from comptoir.edm.types import is_guid
from comptoir.features.console.backend import Backend, body_of
from comptoir.features.console.visit import CompanyChoice

MOST_CHOICES = 200
"""The most companies that the selector lists."""


class _List(msgspec.Struct):
    value: list[CompanyChoice]


async def company_choices(
    backend: Backend, principal: Principal, wanted: str | None, last: str
) -> tuple[Sequence[CompanyChoice], CompanyChoice | None]:
    """The companies by name, and the chosen one.

    That is the one with the id `wanted`. If None is wanted, it is the one with the id `last`, or
    the first one if the user cannot choose that.
    """
    listed = await listed_companies(backend, principal)
    sought = last if wanted is None else wanted
    chosen = next((each for each in listed if each.id == sought.lower()), None)
    if chosen is None:
        chosen = await company_with_id(backend, principal, sought)
        if chosen is not None:
            listed = [chosen, *listed]
    if chosen is None and wanted is None:
        chosen = next(iter(listed), None)
    return listed, chosen


async def company_with_id(
    backend: Backend, principal: Principal, company_id: str
) -> CompanyChoice | None:
    """The company with an id, None if the user cannot choose it."""
    if not is_guid(company_id):
        return None
    listed = await listed_companies(backend, principal, f"id eq {company_id}")
    return next(iter(listed), None)


async def listed_companies(
    backend: Backend, principal: Principal, condition: str = ""
) -> Sequence[CompanyChoice]:
    """The companies that a user may choose, by name; raises `Refusal` as the API does."""
    options = {"$select": "id,name", "$orderby": "name", "$top": str(MOST_CHOICES)}
    if condition:
        options["$filter"] = condition
    path = f"/{backend.model.companies.name}"
    response = await backend.answer(principal, "GET", path, urlencode(options))
    return msgspec.json.decode(await body_of(response), type=_List).value
