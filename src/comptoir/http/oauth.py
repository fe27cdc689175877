"""The pages of OAuth 2.0: their documents, their forms, their errors, and their transport."""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl
from uuid import uuid4

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from comptoir.auth.assertions import ASSERTION_ALGORITHMS
from comptoir.auth.client_check import TokenRequest
from comptoir.auth.keys import VerificationKey
from comptoir.auth.origins import issuer_paths, origin_named, token_paths, token_url
from comptoir.auth.token_endpoint import GRANT, TokenEndpoint
from comptoir.auth.tokens import SIGNING_ALGORITHM, Scope
from comptoir.config import Settings
from comptoir.edm.types import is_guid
from comptoir.errors import oauth_rows as problems
from comptoir.errors.messages import description, quoted
from comptoir.errors.refusal import OAuthRefusal, Refusal
from comptoir.errors.table import TOO_MANY_REQUESTS, UNAVAILABLE
from comptoir.http.exchange import Exchange, is_private, read_body
from comptoir.request.headers import combined
from comptoir.response.errors import as_guid

FORM_BYTES = 16 << 10
"""The largest form."""

NoteOutcome = Callable[[str, str], None]
"""Called with the name of an endpoint and the outcome of each request: `success` or an error."""

_OPENID = "/.well-known/openid-configuration"
_AUTHORIZATION_SERVER = "/.well-known/oauth-authorization-server"
_FORM = "application/x-www-form-urlencoded"
_CREDENTIALS = ("client_id", "client_secret", "client_assertion")


PublishedKeys = Callable[[], Mapping[str, VerificationKey]]


def oauth_routes(
    endpoint: TokenEndpoint, note_outcome: NoteOutcome, keys: PublishedKeys, settings: Settings
) -> list[Route]:
    """The routes of the token endpoint, and of the documents that describe it and its `keys`."""
    routes = [*_token_routes(endpoint, note_outcome, settings), *_document_routes(keys, settings)]
    for tenant in map(re.escape, settings.tenants):
        for each in routes:
            # some clients write their tenant as their portal shows it
            pattern = each.path_regex.pattern.replace(f"/{tenant}/", f"/(?i:{tenant})/")
            each.path_regex = re.compile(pattern)
    return routes


def _token_routes(
    endpoint: TokenEndpoint, note_outcome: NoteOutcome, settings: Settings
) -> list[Route]:
    """The token endpoint, with each tenant and without one, and what else needs a client."""
    acts: Mapping[str, Callable[[TokenRequest], Awaitable[object]]] = {
        "token": endpoint.token,
        "revoke": endpoint.revoke,
        "introspect": endpoint.introspect,
    }

    def route(path: str, tenant: str) -> Route:
        name = path.rpartition("/")[2]

        async def response(request: Request) -> Response:
            try:
                found = await acts[name](await _asked(request, tenant, settings))
            except OAuthRefusal as refusal:
                error = refusal
            except Refusal as refusal:
                if refusal.error.status not in (UNAVAILABLE.status, TOO_MANY_REQUESTS.status):
                    raise
                error = problems.UNAVAILABLE(headers=refusal.headers, error=refusal)
            else:
                note_outcome(name, "success")
                headers = {"Pragma": "no-cache"} if name == "token" else None
                return Response() if found is None else _json(msgspec.json.encode(found), headers)
            note_outcome(name, error.error.error)
            return _refused(request, error, settings)

        return Route(path, response, methods=["POST"])

    return [
        route(path, each)
        for each in settings.tenants
        for path in (
            *token_paths(each, settings),
            *(f"/{each}/oauth2/v2.0/{name}" for name in ("revoke", "introspect")),
        )
    ]


def _document_routes(keys: PublishedKeys, settings: Settings) -> list[Route]:
    """The documents, each at the addresses where clients look for it."""

    def document(path: str, issuer_path: str, tenant: str) -> Route:
        async def response(request: Request) -> Response:
            origin = origin_named(request.headers.get("host", ""), settings)
            found = _configuration(f"{origin}{issuer_path}", origin, tenant)
            return _json(msgspec.json.encode(found))

        return Route(path, response)

    async def key_response(_: Request) -> Response:
        return _json(_key_set(keys()))

    async def authorize(request: Request) -> Response:
        return _refused(request, problems.NO_RESPONSE_TYPE(), settings)

    routes = [
        Route("/oauth2/jwks", key_response),
        document(_AUTHORIZATION_SERVER, "", settings.tenants[0]),
    ]
    for each in settings.tenants:
        paths = issuer_paths(each, settings)
        routes += [
            Route(f"/{each}/discovery/v2.0/keys", key_response),
            Route(f"/{each}/oauth2/v2.0/authorize", authorize),
            *[document(f"{path}{_OPENID}", path, each) for path in paths],
            # RFC 8414, 3 puts its name before the path of the issuer, OpenID Connect after it
            document(f"{_AUTHORIZATION_SERVER}{paths[0]}", paths[0], each),
        ]
    return routes


def _json(content: bytes, headers: Mapping[str, str] | None = None) -> Response:
    return Response(content, media_type="application/json", headers=headers)


async def _asked(request: Request, tenant: str, settings: Settings) -> TokenRequest:
    """The form of a request; raises `OAuthRefusal` if its transport or form is not allowed."""
    if not is_private(request.scope):
        raise problems.NOT_PRIVATE()
    if any(name in request.query_params for name in _CREDENTIALS):
        raise problems.CREDENTIALS_IN_URL()
    exchange: Exchange = request.scope["exchange"]
    return TokenRequest(
        form=await _form(request),
        authorization=request.headers.get("authorization"),
        origin=origin_named(request.headers.get("host", ""), settings),
        tenant=tenant,
        address=exchange.client,
        request=exchange.id,
    )


async def _form(request: Request) -> Mapping[str, str]:
    """The parameters of a form; those without a value count as missing (RFC 6749, 3.2)."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != _FORM:
        raise problems.NOT_A_FORM(media_type=_FORM)
    try:
        body = await read_body(request.receive, combined(request.scope["headers"]), FORM_BYTES)
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict")
    except Refusal as refusal:
        raise problems.UNREADABLE_BODY(headers=refusal.headers, error=refusal) from refusal
    except UnicodeDecodeError:
        raise problems.NOT_ENCODED() from None
    form: dict[str, str] = {}
    for name, value in pairs:
        if name in form:
            raise problems.REPEATED(name=quoted(name))
        form[name] = value
    return {name: value for name, value in form.items() if value}


def _refused(request: Request, refusal: OAuthRefusal, settings: Settings) -> Response:
    exchange: Exchange = request.scope["exchange"]
    asked_by = request.headers.get("client-request-id", "")
    for each in exchange.observers:
        each.note_denial(refusal)
    text = description(refusal.message)
    if settings.behaviour.tokens.numbered:
        text = f"AADSTS{refusal.error.number}: {text}"
    # the members of RFC 6749, 5.2, then those that Microsoft's clients read
    error = {
        "error": refusal.error.error,
        "error_description": text,
        "error_codes": (refusal.error.number,),
        "timestamp": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%SZ}",
        "trace_id": str(as_guid(exchange.id)),
        "correlation_id": asked_by if is_guid(asked_by) else str(uuid4()),
    }
    return Response(
        msgspec.json.encode(error),
        refusal.error.status,
        dict(refusal.headers),
        media_type="application/json",
    )


_METHODS = ("client_secret_basic", "client_secret_post", "private_key_jwt")


def _configuration(issuer: str, origin: str, tenant: str) -> Mapping[str, object]:
    """The document of an issuer (RFC 8414, 2), which is the address that it was asked for at.

    OpenID Connect Discovery has the same members, and two about ID tokens, which the service does
    not issue. The endpoints begin with the tenant: Microsoft's library for Node replaces the first
    segment.
    """
    root = f"{origin}/{tenant}"
    how = {"methods": _METHODS, "signing_alg_values": ASSERTION_ALGORITHMS}
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{root}/oauth2/v2.0/authorize",
        "token_endpoint": token_url(origin, tenant),
        "jwks_uri": f"{root}/discovery/v2.0/keys",
        "revocation_endpoint": f"{root}/oauth2/v2.0/revoke",
        "introspection_endpoint": f"{root}/oauth2/v2.0/introspect",
        "scopes_supported": tuple(Scope),
        "response_types_supported": (),
        "subject_types_supported": ("public",),
        "id_token_signing_alg_values_supported": (SIGNING_ALGORITHM,),
        "grant_types_supported": (GRANT,),
        **{
            f"{endpoint}_endpoint_auth_{term}_supported": values
            for endpoint in ("token", "revocation", "introspection")
            for term, values in how.items()
        },
    }


def _key_set(keys: Mapping[str, VerificationKey]) -> bytes:
    """The document with the public keys of clients' tokens, a JWK set (RFC 7517, 5)."""
    members = [
        {**key.as_dict(private=False), "kid": kid, "use": "sig", "alg": SIGNING_ALGORITHM}
        for kid, key in keys.items()
    ]
    return msgspec.json.encode({"keys": members})
