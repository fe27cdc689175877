"""The addresses of the API: the base path, and those that a profile adds."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from comptoir.auth.roles import Principal
from comptoir.config import Settings
from comptoir.request.headers import Headers
from comptoir.response.response import Root


class RequestTarget(NamedTuple):
    """The root, path, query and headers of a request."""

    root: Root
    path: str
    query: str
    headers: Headers


class Routes:
    """The addresses of the API: the base path, to which a profile may add others."""

    names_companies = False
    """Whether requests may name their company otherwise than by its id in the path."""

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


def api_addresses(settings: Settings) -> Mapping[str, str]:
    """The base URL, the documentation, and the service roots that a profile adds, by label."""
    base = {"API": settings.base_url, "Documentation": settings.docs_url}
    return {**base, **profile_addresses(settings)}


def path_names(settings: Settings) -> Mapping[str, tuple[str, ...]]:
    """The names in the addresses of a profile, by what they name (`profiles.record.Routes`)."""
    return {"tenant": settings.tenants, **settings.behaviour.routes.names}


def profile_addresses(settings: Settings) -> Mapping[str, str]:
    """The service roots that a profile adds, by label.

    They have the first names of the settings: they show the form of all.
    """
    addresses: dict[str, str] = {}
    names = {key: values[0] for key, values in path_names(settings).items()}
    origin = settings.base_url.removesuffix(settings.base_path)
    routes = settings.behaviour.routes
    for environment in routes.environments:
        for api in routes.apis:
            path = (environment + api).format(**names)
            label = f"{api[1:]} of {environment.rpartition('/')[2]}".format(**names)
            # an environment has a longer address with its tenant and a shorter one
            addresses.setdefault(label, origin + path)
    return addresses
