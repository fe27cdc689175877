"""The control endpoint of rehearsals: the rules, their log, and the clock."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from comptoir.auth import Principal, Scope, require
from comptoir.auth.audit import Actor
from comptoir.auth.authentication import Authenticator
from comptoir.errors.refusal import refuse
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.documents import LONGEST_DOCUMENT, parse_advance
from comptoir.features.rehearsal.rehearsal import Rehearsal
from comptoir.features.rehearsal.rules import Rule
from comptoir.http.exchange import Exchange, read_body
from comptoir.request.headers import combined
from comptoir.request.methods import READ_METHODS

FAULTS = "/faults"

_Act = Callable[[Request, Principal], Awaitable[Response]]


class ControlEndpoint:
    """Answers requests to the control endpoint, for tokens with the scope `faults`.

    A token for some companies adds, sees and removes rules about these, and sees the requests to
    them. What concerns all companies needs a token for all.
    """

    def __init__(self, rehearsal: Rehearsal, authenticator: Authenticator) -> None:
        self._rehearsal = rehearsal
        self._authenticator = authenticator

    def routes(self) -> list[Route]:
        """The routes of the endpoint; those that concern all companies at the end."""
        routes: Sequence[tuple[str, Sequence[str], _Act]] = (
            ("", ("GET", "PUT", "DELETE"), self._rules),
            ("/rules", ("POST",), self._add),
            ("/rules/{id}", ("DELETE",), self._remove),
            ("/log", ("GET",), self._log),
            ("/requests", ("GET",), self._requests),
            ("/report", ("GET",), _of_all(self._report)),
            ("/mark", ("POST",), _of_all(self._mark)),
            ("/reset", ("POST",), _of_all(self._reset)),
            ("/clock", ("POST",), _of_all(self._clock)),
        )
        return [
            Route(f"{FAULTS}{path}", partial(self._respond, act), methods=list(methods))
            for path, methods, act in routes
        ]

    async def _respond(self, act: _Act, request: Request) -> Response:
        """Authenticate and act; raises `Refusal`: 401 without a token, 403 without the scope."""
        authorization = request.headers.get("authorization")
        sent = None if authorization is None else authorization.encode("latin-1")
        principal = await self._authenticator.authenticate(sent)
        _exchange(request).subject = principal.subject
        require(principal, Scope.FAULTS)
        return await act(request, principal)

    async def _rules(self, request: Request, principal: Principal) -> Response:
        if request.method in READ_METHODS:
            known = self._rehearsal.rules
            return _listed([each for each in known if principal.reaches(each.match.company)])
        _require_all(principal)
        rules: Sequence[Rule] = ()
        if request.method == "PUT":
            rules = self._rehearsal.parsed(await _body(request))
        await self._rehearsal.replace(rules, _actor(request))
        return _listed(rules)

    async def _add(self, request: Request, principal: Principal) -> Response:
        body = await _body(request)
        rule = await self._rehearsal.add(body, _actor(request), principal.reaches)
        return _json(rule.listed, 201)

    async def _remove(self, request: Request, principal: Principal) -> Response:
        rule_id = request.path_params["id"]
        await self._rehearsal.remove(rule_id, _actor(request), principal.reaches)
        return Response(status_code=204)

    async def _log(self, _: Request, principal: Principal) -> Response:
        firings = self._rehearsal.firings
        return _json({"value": [each for each in firings if principal.reaches(each.company)]})

    async def _requests(self, _: Request, principal: Principal) -> Response:
        sent = self._rehearsal.traffic.requests()
        return _json({"value": [each for each in sent if principal.reaches(each.company)]})

    async def _report(self, _: Request) -> Response:
        report = self._rehearsal.traffic.report()
        return _json({"value": [{"client": each, "traps": report[each]} for each in report]})

    async def _clock(self, request: Request) -> Response:
        ahead = self._rehearsal.advance(parse_advance(await _body(request)))
        return _json({"aheadSeconds": ahead})

    async def _mark(self, _: Request) -> Response:
        await self._rehearsal.remember()
        return Response(status_code=204)

    async def _reset(self, request: Request) -> Response:
        await self._rehearsal.restore(_actor(request))
        return Response(status_code=204)


def _of_all(act: Callable[[Request], Awaitable[Response]]) -> _Act:
    """What only a token for all companies may do."""

    async def acted(request: Request, principal: Principal) -> Response:
        _require_all(principal)
        return await act(request)

    return acted


def _require_all(principal: Principal) -> None:
    """Raise `Refusal` (403) for a token that is not for all companies."""
    if principal.companies is not None:
        raise refuse(errors.ALL_COMPANIES)


def _exchange(request: Request) -> Exchange:
    exchange: Exchange = request.scope["exchange"]
    return exchange


def _actor(request: Request) -> Actor:
    """The client in the audit log, once it is authenticated."""
    exchange = _exchange(request)
    return Actor(exchange.subject, exchange.client, exchange.id)


async def _body(request: Request) -> bytes:
    return await read_body(request.receive, combined(request.scope["headers"]), LONGEST_DOCUMENT)


def _listed(rules: Sequence[Rule]) -> Response:
    return _json({"rules": [each.listed for each in rules]})


def _json(content: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")
