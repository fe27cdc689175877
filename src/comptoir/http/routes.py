"""The addresses of the API: the base path, and those that a profile adds.

An address is matched by names that the settings list, and its links begin with an own origin. So
there are only as many service roots as the operator has named, whatever clients send.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from string import Formatter
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from comptoir.auth import Principal
from comptoir.auth.origins import own_origins
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import (
    Refusal,
    refuse,
)
from comptoir.http.company_names import COMPANY_HEADERS, CompanyNames, RequestTarget
from comptoir.request.headers import Headers
from comptoir.response.response import Root
from comptoir.store.store import Store


class BaseRoute:
    """The base path alone."""

    company_headers = frozenset[bytes]()
    """The headers that name a company."""

    def __init__(self, settings: Settings) -> None:
        base = settings.base_path.encode()
        self.serves: Callable[[bytes], object] = re.compile(re.escape(base) + rb"(?:/|\Z)").match
        """Something true for a path of the API, else None."""
        self._length = len(base)
        self._root = Root(settings.base_url)
        urls = (settings.base_url, settings.listening_url)
        paths = {settings.base_path, *(urlsplit(each).path.rstrip("/") for each in urls)}
        self.paths = tuple(sorted(paths, key=len, reverse=True))
        """The paths of the service roots, the longest first."""

    def located(self, raw_path: bytes, headers: Headers) -> tuple[Root, str]:
        """The service root of a path of the API, and the rest of the path."""
        return self._root, raw_path[self._length :].decode("latin-1")

    async def with_company_id(self, at: RequestTarget, _: Principal) -> RequestTarget:
        """The same request with the id of its company in its path; here, it has that already."""
        return at


class ProfileRoutes:
    """The base path, and the API in each environment of a profile.

    The links have the origin that the `Host` header names, if it is an own one.
    """

    company_headers = COMPANY_HEADERS

    def __init__(self, settings: Settings, names: CompanyNames) -> None:
        self.with_company_id = names.with_company_id
        self._base = BaseRoute(settings)
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
        paths = {*self._base.paths, *below, *(self._front + each for each in below)}
        self.paths = tuple(sorted(paths, key=len, reverse=True))
        """The paths of the service roots, the longest first."""

    def serves(self, raw_path: bytes) -> bool:
        """Whether a path is of the API, or of an environment."""
        if self._base.serves(raw_path):
            return True
        first = raw_path[1:].partition(b"/")[0]
        return _name(first) in self._first

    def located(self, raw_path: bytes, headers: Headers) -> tuple[Root, str]:
        """The service root of a path that this serves, and the rest of the path.

        Raises `Refusal` (404) for an unknown environment, and for an unknown API in a known one.
        """
        origin = self._origins.get(headers.get(b"host", b"").lower(), self._origin)
        if self._base.serves(raw_path):
            _, path = self._base.located(raw_path, headers)
            return Root(origin + self._base_path), path
        segments = raw_path[1:].split(b"/", self._depths[0])
        names = tuple(map(_name, segments[: self._depths[0]]))
        for depth in self._depths:
            if names[:depth] in self._apis:
                root = self._apis[names[:depth]]
                rest = raw_path[sum(len(each) + 1 for each in segments[:depth]) :]
                url = f"{origin}{self._front}{root.url}"
                return replace(root, url=url), rest.decode("latin-1")
        raise self._unknown(names, origin + raw_path.decode("latin-1"))

    def _unknown(self, names: tuple[str, ...], url: str) -> Refusal:
        if any(names[: len(each)] == each for each in self._environments):
            return refuse(rows.NO_API, url=url)
        return refuse(rows.NO_ENVIRONMENT)


Routes = BaseRoute | ProfileRoutes


def routes_of(settings: Settings, model: Model, store: Store) -> Routes:
    """The addresses of the API by the settings, with the companies in a store."""
    if not settings.behaviour.routes.apis:
        return BaseRoute(settings)
    return ProfileRoutes(settings, CompanyNames(model, store))


def _filled(path: str, settings: Settings) -> Iterator[str]:
    """The paths that match a pattern of a profile, with the names of the settings."""
    fields = [name for _, name, _, _ in Formatter().parse(path) if name is not None]
    known: Mapping[str, Sequence[str]] = settings.address_names
    for values in product(*(known[name] for name in fields)):
        yield path.format(**dict(zip(fields, values, strict=True)))


def _names(path: str) -> tuple[str, ...]:
    return tuple(path.lower().split("/")[1:])


def _name(segment: bytes) -> str:
    """A segment as it is compared: decoded, and in lower case."""
    return unquote(segment.decode("latin-1")).lower()
