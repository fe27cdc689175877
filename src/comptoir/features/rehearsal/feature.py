"""Rehearsals as a part of a service, with the control endpoint."""

import os
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urljoin, urlsplit

import click
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from typing_extensions import override

from comptoir.auth.audit import Actor
from comptoir.auth.authentication import Authenticator
from comptoir.auth.origins import is_loopback
from comptoir.auth.roles import Principal, require
from comptoir.auth.tokens import Scope
from comptoir.config import Settings, environment_name, load_settings
from comptoir.features.rehearsal import RehearsalSettings, errors
from comptoir.features.rehearsal import errors as problems
from comptoir.features.rehearsal.documents import LONGEST_DOCUMENT, parse_advance
from comptoir.features.rehearsal.rehearsal import Rehearsal
from comptoir.features.rehearsal.rules import Rule
from comptoir.http.exchange import Exchange, read_body
from comptoir.request.headers import combined
from comptoir.request.path import READ_METHODS

_Act = Callable[[Request, Principal], Awaitable[Response]]


class Rehearsing(Rehearsal):
    """A rehearsal that is controlled by requests and in the console."""

    screen = "comptoir.features.rehearsal.screen:SCREEN"

    @override
    def check_start(self, config: str | None) -> None:
        """Raise `OperatorError` for faults by option or variable where others use the service."""
        addresses = filter(None, (self.settings.public_url, self.settings.listening_url))
        foreign = [each for each in addresses if not is_loopback(urlsplit(each).hostname or "")]
        file = config or os.environ.get(environment_name("config"))
        written = load_settings({"config": file}, {}) if foreign and file else Settings()
        if foreign and not written.of(RehearsalSettings).is_on:
            raise problems.FAULTS_FOR_OTHERS(address=foreign[0])

    @override
    def announce(self, *, is_quickstart: bool) -> None:
        click.secho(
            "WARNING: requests may meet faults on demand (--faults). GET "
            f"{urljoin(self.settings.base_url, '/readyz')} lists the rules.",
            fg="red",
            bold=True,
            err=True,
        )

    @override
    def routes(self, operator: Authenticator) -> Sequence[Route]:
        return ControlEndpoint(self, operator).routes()


class ControlEndpoint:
    """Answers requests to the control endpoint, for tokens with the scope `faults`.

    A token for some companies adds, sees and removes rules about these, and sees the requests to
    them. What concerns all companies needs a token for all.
    """

    def __init__(self, rehearsal: Rehearsal, authenticator: Authenticator) -> None:
        self._rehearsal = rehearsal
        self._authenticator = authenticator

    def routes(self) -> list[Route]:
        """The routes of the endpoint."""
        return [
            self._route("", self._rules, "GET", "PUT", "DELETE"),
            self._route("/rules", self._add, "POST"),
            self._route("/rules/{id}", self._remove, "DELETE"),
            self._route("/log", self._log, "GET"),
            self._route("/requests", self._requests, "GET"),
            self._route("/report", self._report, "GET", of_all=True),
            self._route("/mark", self._mark, "POST", of_all=True),
            self._route("/reset", self._reset, "POST", of_all=True),
            self._route("/clock", self._clock, "POST", of_all=True),
        ]

    def _route(self, path: str, act: _Act, *methods: str, of_all: bool = False) -> Route:
        """A route for tokens with the scope, or for those of them that are for all companies."""

        async def respond(request: Request) -> Response:
            authorization = request.headers.get("authorization")
            sent = None if authorization is None else authorization.encode("latin-1")
            principal = await self._authenticator.authenticate(sent)
            _exchange(request).subject = principal.subject
            require(principal, Scope.FAULTS)
            if of_all:
                _require_all(principal)
            return await act(request, principal)

        return Route(f"/faults{path}", respond, methods=list(methods))

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

    async def _report(self, _: Request, _principal: Principal) -> Response:
        report = self._rehearsal.traffic.report()
        return _json({"value": [{"client": each, "traps": report[each]} for each in report]})

    async def _clock(self, request: Request, _: Principal) -> Response:
        ahead = self._rehearsal.advance(parse_advance(await _body(request)))
        return _json({"aheadSeconds": ahead})

    async def _mark(self, _: Request, _principal: Principal) -> Response:
        await self._rehearsal.remember()
        return Response(status_code=204)

    async def _reset(self, request: Request, _: Principal) -> Response:
        await self._rehearsal.restore(_actor(request))
        return Response(status_code=204)


def _require_all(principal: Principal) -> None:
    """Raise `Refusal` (403) for a token that is not for all companies."""
    if principal.companies is not None:
        raise errors.ALL_COMPANIES()


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
