"""The front page `GET /`: what this is, and where its parts are."""

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from comptoir.auth.origins import serves_console
from comptoir.config import Settings
from comptoir.http.addresses import profile_addresses
from comptoir.request.headers import combined, prefers_html

ASSETS = Path(__file__).with_name("assets")
PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    # the files change with a release, and keep their names
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
}
_FRONT_HEADERS = {
    **PAGE_HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Vary": "Accept",
}
_ABOUT = "An OData v4 API for business records, in the style of the Business Central API."


class _Link(msgspec.Struct, frozen=True):
    """A part of the service: its name in JSON and for people, and its address.

    `href` is relative where that works, because the page may be read by another host name.
    """

    name: str
    title: str
    about: str
    url: str
    href: str


def front_routes(settings: Settings, *, has_docs: bool) -> list[Route]:
    """The page `/` and its style sheet; `has_docs`: the documentation is on the same port."""
    links = list(_links(settings, has_docs=has_docs))
    parts = {"name": "Comptoir", "about": _ABOUT, **{each.name: each.url for each in links}}
    document = msgspec.json.format(msgspec.json.encode(parts)) + b"\n"

    async def front(request: Request) -> Response:
        if prefers_html(combined(request.scope["headers"])):
            return Response(_page(links), headers=_FRONT_HEADERS, media_type="text/html")
        return Response(document, headers=_FRONT_HEADERS, media_type="application/json")

    return [
        Route("/", front),
        file_route("/front.css", lambda: ASSETS / "front.css", "text/css"),
    ]


def file_route(path: str, find: Callable[[], Path], media_type: str) -> Route:
    """The route of a file that changes only with a release."""

    async def response(_: Request) -> Response:
        return FileResponse(find(), media_type=media_type, headers=PAGE_HEADERS)

    return Route(path, response)


def _links(settings: Settings, *, has_docs: bool) -> Iterator[_Link]:
    if has_docs and serves_console(settings):
        about = "Requests, records and clients. The command comptoir console prints a login link."
        yield _Link("console", "Console", about, settings.console_url, "console")
    if has_docs:
        about = "All operations, with examples to try in the browser."
        yield _Link("documentation", "Documentation", about, settings.docs_url, "docs")
    is_elsewhere = bool(settings.public_url) or (has_docs and settings.admin_port != 0)
    api = settings.base_url if is_elsewhere else settings.base_path.removeprefix("/")
    about = "The base URL of the API. Requests need a bearer token."
    yield _Link("api", "API", about, settings.base_url, api)
    about = "The entity types, their properties and what they can do. Needs a token, too."
    metadata = f"{settings.base_url}/$metadata"
    yield _Link("metadata", "Metadata", about, metadata, f"{api}/$metadata")
    about = "An address that the profile adds for its clients."
    for name, url in profile_addresses(settings).items():
        href = url if is_elsewhere else urlsplit(url).path.removeprefix("/")
        yield _Link(name, name, about, url, href)


def _page(links: list[_Link]) -> str:
    page = Template((ASSETS / "front.html").read_text(encoding="utf-8"))
    item = Template('<li><a href="$href">$title</a><p>$about</p><code>$url</code></li>')
    items = [
        item.substitute(
            href=escape(each.href), title=each.title, about=each.about, url=escape(each.url)
        )
        for each in links
    ]
    return page.substitute(about=_ABOUT, links="\n        ".join(items))
