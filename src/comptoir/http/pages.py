"""The pages outside the API: the documentation, health, readiness and metrics."""

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.errors import METHOD_NOT_ALLOWED, RESOURCE_NOT_FOUND, Refusal
from comptoir.http.log import Journal
from comptoir.http.metrics import CONTENT_TYPE
from comptoir.http.refusals import failed
from comptoir.metadata.openapi import openapi_document
from comptoir.refusals import method_not_allowed
from comptoir.response.response import error_response
from comptoir.service.descriptions import capabilities
from comptoir.store.store import Store

_ASSETS = Path(__file__).with_name("assets")
_DOCS_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    # the files change with a release, and keep their names
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
}


def pages(store: Store, journal: Journal, model: Model, settings: Settings) -> Starlette:
    """The application outside the base path."""

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        await store.check()
        lines = ["ready", *(f"warning: {each}" for each in store.condition.warnings())]
        return PlainTextResponse("\n".join([*lines, ""]))

    async def exposition(_: Request) -> Response:
        return Response(journal.exposition(), media_type=CONTENT_TYPE)

    async def refused(request: Request, fault: Exception) -> Response:
        if isinstance(fault, Refusal):
            return _response(fault)
        if not isinstance(fault, HTTPException):
            return _response(failed())
        if fault.status_code == METHOD_NOT_ALLOWED.status:
            allowed = (fault.headers or {})["Allow"]
            return _response(method_not_allowed(request.method, request.url.path, allowed))
        remedy = f"Use the API at {settings.base_url}, which is documented at /docs."
        return _response(Refusal(RESOURCE_NOT_FOUND, "There is no page at this path", remedy))

    application = Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", exposition),
            *_docs_routes(model, settings),
        ],
        exception_handlers={HTTPException: refused, Refusal: refused, Exception: refused},
    )
    # a redirect would contain the Host header, which is not trusted
    application.router.redirect_slashes = False
    return application


def _response(refusal: Refusal) -> Response:
    response = error_response(refusal)
    headers = {name.decode(): value.decode("latin-1") for name, value in response.headers}
    content = response.body if isinstance(response.body, bytes) else b""
    return Response(content, response.status, headers)


def _docs_routes(model: Model, settings: Settings) -> list[Route]:
    """The page `/docs`, its files, and the OpenAPI document.

    The document needs no token, because it contains no data of a record.
    """

    @lru_cache(1)
    def document() -> bytes:
        return openapi_document(model, settings, capabilities(settings))

    async def openapi(_: Request) -> Response:
        return Response(document(), media_type="application/json", headers=_DOCS_HEADERS)

    return [
        _file("/docs", lambda: _ASSETS / "docs.html", "text/html"),
        _file("/docs/start.js", lambda: _ASSETS / "docs.js", "text/javascript"),
        _file("/docs/swagger-ui.js", lambda: _swagger_ui("bundle.js"), "text/javascript"),
        _file("/docs/swagger-ui.css", lambda: _swagger_ui("style.css"), "text/css"),
        Route("/docs/openapi.json", openapi),
    ]


def _swagger_ui(name: str) -> Path:
    """A file of Swagger UI; the package is not imported, because that reads all of its files."""
    return Path(str(distribution("offapi").locate_file(f"offapi/swagger_{name}")))


def _file(path: str, find: Callable[[], Path], media_type: str) -> Route:
    async def response(_: Request) -> Response:
        return FileResponse(find(), media_type=media_type, headers=_DOCS_HEADERS)

    return Route(path, response)
