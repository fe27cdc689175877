"""What stands outside the interface: the docs, health, readiness and metrics."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.errors import INTERNAL_ERROR, METHOD_NOT_ALLOWED, RESOURCE_NOT_FOUND, Refusal
from comptoir.http.docs import docs_routes
from comptoir.http.journal import Journal
from comptoir.http.metrics import CONTENT_TYPE
from comptoir.response.response import error_response
from comptoir.service.descriptions import capabilities
from comptoir.store.store import Store


def pages(store: Store, journal: Journal, model: Model, settings: Settings) -> Starlette:
    """The application that answers outside the base path."""

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        await store.check()
        lines = ["ready", *(f"warning: {each}" for each in store.condition.warnings())]
        return PlainTextResponse("\n".join([*lines, ""]))

    async def exposition(_: Request) -> Response:
        return Response(journal.exposition(), media_type=CONTENT_TYPE)

    async def refused(_: Request, fault: Exception) -> Response:
        if isinstance(fault, Refusal):
            return _response(fault)
        if not isinstance(fault, HTTPException):
            message = "The service failed. Its log has the cause under the id in X-Request-Id."
            return _response(Refusal(INTERNAL_ERROR, message))
        if fault.status_code == METHOD_NOT_ALLOWED.status:
            allowed = (fault.headers or {}).get("Allow", "")
            message = f"The path does not have this method. It has: {allowed}."
            return _response(Refusal(METHOD_NOT_ALLOWED, message, headers=fault.headers))
        message = (
            f"There is nothing here. The interface is at {settings.base_url}, its docs at /docs."
        )
        return _response(Refusal(RESOURCE_NOT_FOUND, message))

    application = Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", exposition),
            *docs_routes(model, settings, capabilities(settings)),
        ],
        exception_handlers={HTTPException: refused, Refusal: refused, Exception: refused},
    )
    # a redirect would be made from the Host header, which is never believed
    application.router.redirect_slashes = False
    return application


def _response(refusal: Refusal) -> Response:
    answer = error_response(refusal)
    headers = {name.decode(): value.decode("latin-1") for name, value in answer.headers}
    content = answer.body if isinstance(answer.body, bytes) else b""
    return Response(content, answer.status, headers)
