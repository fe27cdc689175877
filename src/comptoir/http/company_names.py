"""Requests that name their company otherwise than by an id in the path."""

from time import monotonic
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote

from comptoir.auth import Principal
from comptoir.edm.model import Model
from comptoir.edm.types import is_guid
from comptoir.errors import refusal_rows
from comptoir.errors.refusal import refuse
from comptoir.plan.read import Bounds, PagePlan, list_pipeline
from comptoir.plan.target import COMPANIES
from comptoir.request.headers import Headers
from comptoir.request.path import Segment, first_segment, with_joined_slashes
from comptoir.response.response import Root
from comptoir.store.store import COMPANY_CACHE_SECONDS, Store

COMPANY_NAME = b"company"
"""The header with the name of a company, which the requests of a batch inherit."""

CACHED_NAMES = 1_000
"""Names of companies that are cached."""

_OPTION = "company"
_COMPANY_ID = b"companyid"
COMPANY_HEADERS = frozenset({COMPANY_NAME, _COMPANY_ID})
"""The headers that name a company."""

_NAMED_COMPANIES = "Company"
"""The set of companies in addresses that begin with the name of a company."""

_BATCH = "$batch"


class RequestTarget(NamedTuple):
    """The root, path, query and headers of a request."""

    root: Root
    path: str
    query: str
    headers: Headers


class CompanyNames:
    """Finds the companies that requests name by `Company('…')`, an option or a header.

    A company in the path has precedence over the option `company`, and this over the headers.
    """

    def __init__(self, model: Model, store: Store) -> None:
        self._store = store
        self._sets = frozenset(name for name, each in model.by_name.items() if each.per_company)
        self._pipeline, self._values = list_pipeline(model.companies, ())
        self._known: dict[str, tuple[str | None, float]] = {}
        """The ids of companies by name, None for unknown ones, and the times until when."""

    async def with_company_id(self, at: RequestTarget, principal: Principal) -> RequestTarget:
        """The same request with the id of its company in its path.

        Its root has the form in which the client named the company. A batch hands its company on to
        its requests, in its headers. Raises `Refusal` (404) for a company that does not exist or
        that the principal does not reach.
        """
        if at.root.joins_slashes and "//" in at.path:
            at = at._replace(path=with_joined_slashes(at.path))
        first, rest = first_segment(at.path)
        if first is None:
            return at
        if first.name == _NAMED_COMPANIES and first.key is None:
            return at._replace(path=f"/{COMPANIES}{rest}")
        if first.name in (COMPANIES, _NAMED_COMPANIES):
            name = _name_in(first)
            if name is None:
                return at
            inner = f"/{COMPANIES}({await self._id(name, principal)})"
            shown = f"/{_with_name(first, name)}"
            return at._replace(root=at.root.naming(inner, shown=shown), path=inner + rest)
        given = _named(at)
        if given is None:
            return at
        if first.name == _BATCH:
            headers = {each: value for each, value in at.headers.items() if each != _COMPANY_ID}
            return at._replace(headers={**headers, COMPANY_NAME: quote(given).encode()})
        if first.name not in self._sets:
            return at
        inner = f"/{COMPANIES}({await self._id(given, principal)})"
        option = f"{_OPTION}={quote(given, safe='')}"
        query = (
            at.query
            if _option(at.query) is not None
            else "&".join(filter(None, (option, at.query)))
        )
        root = at.root.naming(inner, query=option)
        return RequestTarget(root, inner + at.path, query, at.headers)

    async def _id(self, named: str, principal: Principal) -> str:
        """The id of a company by its id or name; alike for unknown and unreachable ones."""
        found = named.lower() if is_guid(named) else None
        if found is None and "\0" not in named:
            found = await self._id_of(named)
        if found is None or not principal.reaches(found):
            raise refuse(refusal_rows.UNNAMED_COMPANY, name=named)
        return found

    async def _id_of(self, name: str) -> str | None:
        """The lowest id of the companies with a name, up to `COMPANY_CACHE_SECONDS` old."""
        now = monotonic()
        found, until = self._known.get(name, (None, 0.0))
        if now < until:
            return found
        bounds = Bounds(None, within=(("name", name),))
        slices = self._store.page(PagePlan(self._pipeline, bounds, 1, self._values))
        rows = [row async for some in slices for row in some]
        if len(self._known) >= CACHED_NAMES:
            self._known.clear()
        column = self._pipeline.entity_set.type.column_of["id"]
        found = str(rows[0][column]) if rows else None
        self._known[name] = found, now + COMPANY_CACHE_SECONDS
        return found


def _name_in(segment: Segment) -> str | None:
    """The name in `companies(name='…')` or `Company('…')`; None for another key."""
    if segment.key is None or len(segment.key) != 1 or not segment.key[0].quoted:
        return None
    part = segment.key[0]
    if part.name is None:
        return part.text if segment.name == _NAMED_COMPANIES else None
    return part.text if part.name.lower() == "name" else None


def _with_name(segment: Segment, name: str) -> str:
    """The segment as addresses contain it: it is the same for all clients."""
    text = quote(name.replace("'", "''"), safe="'")
    if segment.name == _NAMED_COMPANIES:
        return f"{_NAMED_COMPANIES}('{text}')"
    return f"{COMPANIES}(name='{text}')"


def _named(at: RequestTarget) -> str | None:
    """The company that an option or a header names, by its name or id, percent-encoded or not."""
    option = _option(at.query)
    if option is not None:
        return option
    for header in (_COMPANY_ID, COMPANY_NAME):
        value = at.headers.get(header, b"").decode("utf-8", "replace").strip()
        if value:
            return unquote(value)
    return None


def _option(query: str) -> str | None:
    if _OPTION not in query:
        return None
    found = dict(reversed(parse_qsl(query)))
    return found.get(_OPTION)
