"""The page `/docs`: the interface to read and to try, with nothing from the internet."""

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.metadata.annotations import Capabilities
from comptoir.metadata.openapi import openapi_document

_ASSETS = Path(__file__).with_name("assets")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    # its files change with a release, and keep their names
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
}


def docs_routes(model: Model, settings: Settings, capabilities: Capabilities) -> list[Route]:
    """The page, what it loads, and the OpenAPI document, which needs no token.

    The document stands outside the base path, beside the page: it says nothing of any record.
    """

    @lru_cache(1)
    def document() -> bytes:
        return openapi_document(model, settings, capabilities)

    async def openapi(_: Request) -> Response:
        return Response(document(), media_type="application/json", headers=_HEADERS)

    return [
        _file("/docs", lambda: _ASSETS / "docs.html", "text/html"),
        _file("/docs/start.js", lambda: _ASSETS / "docs.js", "text/javascript"),
        _file("/docs/swagger-ui.js", lambda: _shipped("swagger_bundle.js"), "text/javascript"),
        _file("/docs/swagger-ui.css", lambda: _shipped("swagger_style.css"), "text/css"),
        Route("/docs/openapi.json", openapi),
    ]


def _shipped(name: str) -> Path:
    """A file of the package that brings Swagger UI; importing that would read all its files."""
    return Path(str(distribution("offapi").locate_file(f"offapi/{name}")))


def _file(address: str, find: Callable[[], Path], media_type: str) -> Route:
    async def answer(_: Request) -> Response:
        return FileResponse(find(), media_type=media_type, headers=_HEADERS)

    return Route(address, answer)
