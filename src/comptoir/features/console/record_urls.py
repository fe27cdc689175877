"""The URLs of the pages about records."""

from comptoir.auth.origins import CONSOLE
from comptoir.edm.model import EntitySet
from comptoir.errors.refusal import refuse
from comptoir.features.console import errors
from comptoir.features.console.company_records import company_of
from comptoir.features.console.record_query import RecordQuery
from comptoir.features.console.visit import Visit

SET = "{set}"
"""The part of a path that names an entity set."""


def set_of(visit: Visit) -> EntitySet:
    """The entity set that the path names; raises `Refusal` (404) for an unknown one."""
    name: str = visit.request.path_params["set"]
    model = visit.backend.model
    known = {each.name: each for each in model.sets}
    if name not in known:
        raise refuse(errors.NO_SET, known=known, name=name)
    return known[name]


def page_url(
    visit: Visit,
    entity_set: EntitySet,
    rest: str = "",
    query: RecordQuery | None = None,
    **fields: str,
) -> str:
    """The URL of a page about a set, or about its record with the `key` of `fields`."""
    fields = {"company": company_of(visit), **fields}
    address = visit.url(f"{CONSOLE}/records/{entity_set.name}{rest}", **fields)
    more = "" if query is None else query.address()
    return f"{address}{'&' if '?' in address else '?'}{more}" if more else address
