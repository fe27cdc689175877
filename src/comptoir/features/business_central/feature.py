"""Business Central as a part of a service: its addresses and its definitions.

An address is matched by names that the settings list, and its links begin with an own origin. So
there are only as many service roots as the operator has named, whatever clients send.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import product
from string import Formatter
from time import monotonic
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from comptoir.auth.origins import own_origins
from comptoir.auth.roles import Principal, Right
from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.edm.types import is_guid
from comptoir.errors import refusal_rows as rows
from comptoir.http.feature import Feature, Kernel
from comptoir.http.routes import RequestTarget, Routes, path_names
from comptoir.plan.read import Bounds, PagePlan, list_pipeline
from comptoir.plan.target import may_read
from comptoir.request.expression.parser import parse_expression
from comptoir.request.expression.tree import Binary, Literal, Path
from comptoir.request.headers import Headers, response_format
from comptoir.request.options import OptionParser
from comptoir.request.path import (
    COMPANIES,
    READ_METHODS,
    Segment,
    first_segment,
    with_joined_slashes,
)
from comptoir.response.response import ODATA_VERSION, Response, Root
from comptoir.service.context import FORMAT_OPTIONS, Request, allow_options
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


class BusinessCentralRoutes(Routes):
    """The base path, and the API in each environment of the profile.

    The links have the origin that the `Host` header names, if it is an own one. Requests name their
    company by `Company('…')`, an option or a header: a company in the path has precedence over the
    option `company`, and this over the headers.
    """

    names_companies = True
    company_headers = COMPANY_HEADERS

    def __init__(self, settings: Settings, model: Model, store: Store) -> None:
        super().__init__(settings)
        self._is_base, self.serves = self.serves, self._serves
        self._store = store
        self._sets = frozenset(name for name, each in model.by_name.items() if each.per_company)
        self._pipeline, self._values = list_pipeline(model.companies, ())
        self._known: dict[str, tuple[str | None, float]] = {}
        """The ids of companies by name, None for unknown ones, and the times until when."""
        routes = settings.behaviour.routes
        origins = own_origins(settings)
        self._origins = {urlsplit(each).netloc.encode(): each for each in origins}
        self._origin = origins[0]
        # a proxy may have all addresses below a path of its own
        public = urlsplit(settings.base_url).path.rstrip("/")
        self._front = public.removesuffix(settings.base_path) if settings.public_url else ""
        self._base_path = public
        self._environments = [
            _names(each) for path in routes.environments for each in _filled(path, settings)
        ]
        self._apis: dict[tuple[str, ...], Root] = {}
        """The service roots, each with a path instead of its URL."""
        for (environment, challenge), (api, unknown) in product(
            routes.environments.items(), routes.apis.items()
        ):
            for path in _filled(environment + api, settings):
                joins = api == routes.joins_slashes
                self._apis[_names(path)] = Root(path, unknown, challenge, routes.basic, joins)
        self._depths = sorted({len(each) for each in self._apis}, reverse=True)
        self._first = {each[0] for each in self._apis}
        below = [each.url for each in self._apis.values()]
        paths = {*self.paths, *below, *(self._front + each for each in below)}
        self.paths = tuple(sorted(paths, key=len, reverse=True))

    @override
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
        query = at.query
        if _option(query) is None:
            query = f"{option}&{query}" if query else option
        root = at.root.naming(inner, query=option)
        return RequestTarget(root, inner + at.path, query, at.headers)

    async def _id(self, named: str, principal: Principal) -> str:
        """The id of a company by its id or name; alike for unknown and unreachable ones."""
        found = named.lower() if is_guid(named) else None
        if found is None and "\0" not in named:
            found = await self._id_of(named)
        if found is None or not principal.reaches(found):
            raise rows.UNNAMED_COMPANY(name=named)
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

    def _serves(self, raw_path: bytes) -> bool:
        """Whether a path is of the API, or of an environment."""
        if self._is_base(raw_path):
            return True
        first = raw_path[1:].partition(b"/")[0]
        return _name(first) in self._first

    @override
    def located(self, raw_path: bytes, headers: Headers) -> tuple[Root, str]:
        """The service root of a path that this serves, and the rest of the path.

        Raises `Refusal` (404) for an unknown environment, and for an unknown API in a known one.
        """
        origin = self._origins.get(headers.get(b"host", b"").lower(), self._origin)
        if self._is_base(raw_path):
            _, path = super().located(raw_path, headers)
            return Root(origin + self._base_path), path
        segments = raw_path[1:].split(b"/", self._depths[0])
        names = tuple(map(_name, segments[: self._depths[0]]))
        for depth in self._depths:
            if names[:depth] in self._apis:
                root = self._apis[names[:depth]]
                rest = raw_path[sum(len(each) + 1 for each in segments[:depth]) :]
                url = f"{origin}{self._front}{root.url}"
                return replace(root, url=url), rest.decode("latin-1")
        if any(names[: len(each)] == each for each in self._environments):
            raise rows.NO_API(url=origin + raw_path.decode("latin-1"))
        raise rows.NO_ENVIRONMENT()


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


def _filled(path: str, settings: Settings) -> Iterator[str]:
    """The paths that match a pattern of a profile, with the names of the settings."""
    fields = [name for _, name, _, _ in Formatter().parse(path) if name is not None]
    known: Mapping[str, Sequence[str]] = path_names(settings)
    for values in product(*(known[name] for name in fields)):
        yield path.format(**dict(zip(fields, values, strict=True)))


def _names(path: str) -> tuple[str, ...]:
    return tuple(path.lower().split("/")[1:])


def _name(segment: bytes) -> str:
    """A segment as it is compared: decoded, and in lower case."""
    return unquote(segment.decode("latin-1")).lower()


NAME = "entityDefinitions"
_OPTIONS = FORMAT_OPTIONS | {"$filter"}
_ENGLISH = 1033
"""The language of the captions: English of the United States, as Windows numbers languages."""


class Definitions:
    """Answers requests for the definitions of the entity sets, except those without a right."""

    paths = re.compile(f"/{NAME}/?")

    def __init__(self, model: Model, settings: Settings) -> None:
        queries = settings.behaviour.queries
        self._options = OptionParser(queries.versions, queries.unsupported)
        self._definitions = {each: _definition(each) for each in model.sets}

    async def handle(self, request: Request) -> Response:
        """Answer a request; raises `Refusal` unless the request succeeds."""
        method = request.method
        if method not in READ_METHODS:
            raise rows.METHOD_ON_SET(method=method, resource=NAME, allowed="GET, HEAD", set=NAME)
        options = self._options.parse(request.query)
        form = response_format(request.headers, options.format)
        allow_options(options, _OPTIONS, NAME)
        name = None if options.filter is None else _name_filtered(options.filter)
        rights = request.principal.rights
        readable = None if rights is None else rights[Right.READ]
        listed = [
            definition
            for each, definition in self._definitions.items()
            if name in (None, each.type.name) and may_read(each, readable)
        ]
        context = request.root.context(f"/{NAME}")
        body = msgspec.json.encode({"@odata.context": context, "value": listed})
        return Response(200, [(b"content-type", form.media_type), ODATA_VERSION], body)


def _name_filtered(text: str) -> str:
    """The name in `entityName eq 'NAME'`; raises `Refusal` (501) for any other filter."""
    match parse_expression(text):
        case Binary("eq", Path(("entityName",)), Literal("string", name)):
            return name
    raise rows.DEFINITIONS_FILTER("$filter")


def _definition(entity_set: EntitySet) -> dict[str, object]:
    entity_type = entity_set.type
    caption = _captions(entity_type.caption)
    return {
        "entityName": entity_type.name,
        "entitySetName": entity_set.name,
        "entityCaptions": caption,
        "entitySetCaptions": caption,
        "properties": [
            {"name": each.name, "captions": _captions(each.caption)}
            for each in entity_type.properties
        ],
        "actions": [
            {"name": each.name, "captions": _captions(each.name)} for each in entity_type.actions
        ],
        "enumMembers": [],
    }


def _captions(caption: str) -> list[dict[str, object]]:
    return [{"languageCode": _ENGLISH, "caption": caption}]


class BusinessCentral(Feature):
    """What no record of a profile can say."""

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings = settings
        self._model = model

    @override
    def addresses(self, store: Store) -> Routes:
        return BusinessCentralRoutes(self._settings, self._model, store)

    @override
    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        if self._settings.behaviour.routes.definitions:
            kernel.service.mount(Definitions(self._model, self._settings))
        yield
