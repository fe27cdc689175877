"""The pages outside the API: the front page, the documentation, health, readiness and metrics.

With `admin_port`, these have that port for themselves, and the port of the API has only those that
clients need.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from html import escape
from importlib.metadata import distribution
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from comptoir.auth.authentication import Authenticator
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import METHOD_NOT_ALLOWED
from comptoir.http.exchange import Exchange
from comptoir.http.feature import Kernel, Link
from comptoir.http.log import Journal
from comptoir.http.metrics import CONTENT_TYPE
from comptoir.http.routes import profile_addresses
from comptoir.metadata.openapi import openapi_document
from comptoir.request.headers import combined, prefers_html
from comptoir.response.errors import ErrorWriter
from comptoir.service.descriptions import capabilities

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


def is_for_admin(scope: Scope, settings: Settings) -> bool:
    """Whether a request came by the port for the operator, if there is one."""
    return settings.admin_port != 0 and scope["server"][1] == settings.admin_port


def pages(
    kernel: Kernel,
    journal: Journal,
    errors: ErrorWriter,
    oauth: Sequence[Route],
    operator: Authenticator,
) -> ASGIApp:
    """The application outside the base path; `oauth` are the routes of OAuth."""
    settings, store, features = kernel.settings, kernel.store, kernel.features

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        await store.check()
        lines = ["ready", *(f"warning: {each}" for each in store.condition.warnings())]
        if settings.refuses_writes:
            lines.append("read_only is on: writes of records and companies are refused")
        lines += [line for each in features for line in each.conditions()]
        return PlainTextResponse("\n".join([*lines, ""]))

    async def exposition(_: Request) -> Response:
        return Response(journal.exposition(), media_type=CONTENT_TYPE)

    health = Route("/healthz", healthz)
    optional = [route for each in features for route in each.routes(operator)]
    links = [link for each in features for link in each.links()]
    inner = [
        Route("/readyz", readyz),
        Route("/metrics", exposition),
        *_docs_routes(kernel.model, settings),
    ]
    documented = [*front_routes(settings, links, has_docs=True), health, *inner, *optional]
    if not settings.admin_port:
        return _application([*documented, *oauth], errors, settings)
    of_admin = _application(documented, errors, settings)
    front = front_routes(settings, links, has_docs=False)
    of_clients = _application([*front, health, *optional, *oauth], errors, settings)

    async def by_port(scope: Scope, receive: Receive, send: Send) -> None:
        application = of_admin if is_for_admin(scope, settings) else of_clients
        await application(scope, receive, send)

    return by_port


def _application(routes: Sequence[Route], errors: ErrorWriter, settings: Settings) -> Starlette:
    documented = "" if settings.admin_port else ", which is documented at /docs"

    def refusal(request: Request, error: Exception) -> Refusal:
        if isinstance(error, Refusal):
            return error
        if not isinstance(error, HTTPException):
            return rows.FAILED(id="in X-Request-Id")
        if error.status_code == METHOD_NOT_ALLOWED.status:
            # the routes have sets of methods, whose order differs from process to process
            allowed = ", ".join(sorted((error.headers or {})["Allow"].split(", ")))
            path = request.url.path
            return rows.METHOD(method=request.method, resource=path, allowed=allowed)
        url = settings.base_url
        return rows.NO_PAGE(url=url, documented=documented)

    async def refused(request: Request, error: Exception) -> Response:
        exchange: Exchange = request.scope["exchange"]
        sent = combined(request.scope["headers"])
        response = errors.response(refusal(request, error), exchange.id, sent)
        headers = {name.decode(): value.decode("latin-1") for name, value in response.headers}
        content = response.body if isinstance(response.body, bytes) else b""
        return Response(content, response.status, headers)

    application = Starlette(
        routes=routes,
        exception_handlers={HTTPException: refused, Refusal: refused, Exception: refused},
    )
    # a redirect would contain the Host header, which is not trusted
    application.router.redirect_slashes = False
    return application


def _docs_routes(model: Model, settings: Settings) -> list[Route]:
    """The page `/docs`, its files, and the OpenAPI document, which has no data of a record."""

    @lru_cache(1)
    def document() -> bytes:
        return openapi_document(model, settings, capabilities(settings))

    async def openapi(_: Request) -> Response:
        return Response(document(), media_type="application/json", headers=PAGE_HEADERS)

    return [
        file_route("/docs", lambda: ASSETS / "docs.html", "text/html"),
        file_route("/docs/start.js", lambda: ASSETS / "docs.js", "text/javascript"),
        file_route("/docs/start.css", lambda: ASSETS / "docs.css", "text/css"),
        file_route("/docs/swagger-ui.js", lambda: _swagger_ui("bundle.js"), "text/javascript"),
        file_route("/docs/swagger-ui.css", lambda: _swagger_ui("style.css"), "text/css"),
        Route("/docs/openapi.json", openapi),
    ]


def _swagger_ui(name: str) -> Path:
    """A file of Swagger UI; the package is not imported, because that reads all of its files."""
    return Path(str(distribution("offapi").locate_file(f"offapi/swagger_{name}")))


def front_routes(settings: Settings, optional: Sequence[Link], *, has_docs: bool) -> list[Route]:
    """The page `/` and its style sheet; `has_docs`: the documentation is on the same port."""
    links = list(_links(settings, optional, has_docs=has_docs))
    parts = {"name": "Comptoir", "about": _ABOUT, **{each.name: each.url for each in links}}
    document = msgspec.json.format(msgspec.json.encode(parts)) + b"\n"

    async def front(request: Request) -> Response:
        if prefers_html(combined(request.scope["headers"])):
            return Response(_page(links), headers=_FRONT_HEADERS, media_type="text/html")
        return Response(document, headers=_FRONT_HEADERS, media_type="application/json")

    return [Route("/", front), file_route("/front.css", lambda: ASSETS / "front.css", "text/css")]


def file_route(path: str, find: Callable[[], Path], media_type: str) -> Route:
    """The route of a file that changes only with a release."""

    async def response(_: Request) -> Response:
        return FileResponse(find(), media_type=media_type, headers=PAGE_HEADERS)

    return Route(path, response)


def _links(settings: Settings, optional: Sequence[Link], *, has_docs: bool) -> Iterator[Link]:
    if has_docs:
        yield from optional
        about = "All operations, with examples to try in the browser."
        yield Link("documentation", "Documentation", about, settings.docs_url, "docs")
    is_elsewhere = bool(settings.public_url) or (has_docs and settings.admin_port != 0)
    api = settings.base_url if is_elsewhere else settings.base_path.removeprefix("/")
    about = "The base URL of the API. Requests need a bearer token."
    yield Link("api", "API", about, settings.base_url, api)
    about = "The entity types, their properties and what they can do. Needs a token, too."
    metadata = f"{settings.base_url}/$metadata"
    yield Link("metadata", "Metadata", about, metadata, f"{api}/$metadata")
    about = "An address that the profile adds for its clients."
    for name, url in profile_addresses(settings).items():
        href = url if is_elsewhere else urlsplit(url).path.removeprefix("/")
        yield Link(name, name, about, url, href)


def _page(links: list[Link]) -> str:
    page = Template((ASSETS / "front.html").read_text(encoding="utf-8"))
    item = Template('<li><a href="$href">$title</a><p>$about</p><code>$url</code></li>')
    items = [
        item.substitute(
            href=escape(each.href), title=each.title, about=each.about, url=escape(each.url)
        )
        for each in links
    ]
    return page.substitute(about=_ABOUT, links="\n        ".join(items))
