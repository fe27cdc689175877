"""The control endpoint of rehearsals: the rules, their log, and the clock."""

from collections.abc import Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from comptoir.auth import Principal, Scope, require
from comptoir.auth.audit import Actor
from comptoir.auth.authentication import Authenticator
from comptoir.errors.refusal import refuse
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.documents import LONGEST_DOCUMENT, parse_advance, parse_rules
from comptoir.features.rehearsal.rehearsal import Rehearsal
from comptoir.features.rehearsal.rules import Rule
from comptoir.features.rehearsal.traps import TRAPS, TrapLine
from comptoir.http.exchange import Exchange, read_body
from comptoir.jsonvalue import Json
from comptoir.request.headers import combined
from comptoir.request.path import READ_METHODS

FAULTS = "/faults"


class ControlEndpoint:
    """Answers requests to the control endpoint, for tokens with the scope `faults`.

    A token for some companies adds, sees and removes rules about these, and sees the requests to
    them. What concerns all companies needs a token for all.
    """

    def __init__(self, rehearsal: Rehearsal, authenticator: Authenticator) -> None:
        self._rehearsal = rehearsal
        self._authenticator = authenticator
        self._sets = [each.name for each in rehearsal.model.sets]

    async def rules(self, request: Request) -> Response:
        """List, replace or remove the rules."""
        principal = await self._principal(request)
        if request.method in READ_METHODS:
            known = self._rehearsal.rules
            return _json(_listed([each for each in known if principal.reaches(each.match.company)]))
        _require_all(principal)
        rules: tuple[Rule, ...] = ()
        if request.method == "PUT":
            rules = parse_rules(await _body(request), self._sets)
        await self._rehearsal.replace(rules, _actor(request))
        return _json(_listed(rules))

    async def add(self, request: Request) -> Response:
        """Add a rule after the others."""
        principal = await self._principal(request)
        body = await _body(request)
        rule = await self._rehearsal.add(body, _actor(request), principal.reaches)
        return _json(rule.listed, 201)

    async def remove(self, request: Request) -> Response:
        """Remove one rule."""
        principal = await self._principal(request)
        rule_id = request.path_params["id"]
        await self._rehearsal.remove(rule_id, _actor(request), principal.reaches)
        return Response(status_code=204)

    async def log(self, request: Request) -> Response:
        """The log of faults."""
        principal = await self._principal(request)
        firings = self._rehearsal.firings
        return _json({"value": [each for each in firings if principal.reaches(each.company)]})

    async def requests(self, request: Request) -> Response:
        """The requests of clients."""
        principal = await self._principal(request)
        sent = self._rehearsal.traffic.requests()
        return _json({"value": [each for each in sent if principal.reaches(each.company)]})

    async def report(self, request: Request) -> Response:
        """The traps that clients have met, and those that they have not."""
        await self._check(request)
        clients = [
            {"client": client, "traps": [_trap(line) for line in lines]}
            for client, lines in self._rehearsal.traffic.report().items()
        ]
        return _json({"value": clients})

    async def clock(self, request: Request) -> Response:
        """Move the clock on."""
        await self._check(request)
        ahead = self._rehearsal.advance(parse_advance(await _body(request)))
        return _json({"aheadSeconds": ahead})

    async def mark(self, request: Request) -> Response:
        """Remember the records of all companies."""
        await self._check(request)
        await self._rehearsal.mark()
        return Response(status_code=204)

    async def reset(self, request: Request) -> Response:
        """Return to the remembered records, without rules, and forget what has happened."""
        await self._check(request)
        await self._rehearsal.reset(_actor(request))
        return Response(status_code=204)

    async def _check(self, request: Request) -> None:
        """Raise `Refusal`, also 403 for a token that is not for all companies."""
        _require_all(await self._principal(request))

    async def _principal(self, request: Request) -> Principal:
        """The principal of the token; raises `Refusal`: 401 without one, 403 without the scope."""
        authorization = request.headers.get("authorization")
        sent = None if authorization is None else authorization.encode("latin-1")
        principal = await self._authenticator.authenticate(sent)
        _exchange(request).subject = principal.subject
        require(principal, Scope.FAULTS)
        return principal


def control_routes(rehearsal: Rehearsal, authenticator: Authenticator) -> list[Route]:
    """The routes of the control endpoint."""
    endpoint = ControlEndpoint(rehearsal, authenticator)
    return [
        Route(FAULTS, endpoint.rules, methods=["GET", "PUT", "DELETE"]),
        Route(f"{FAULTS}/rules", endpoint.add, methods=["POST"]),
        Route(f"{FAULTS}/rules/{{id}}", endpoint.remove, methods=["DELETE"]),
        Route(f"{FAULTS}/log", endpoint.log, methods=["GET"]),
        Route(f"{FAULTS}/requests", endpoint.requests, methods=["GET"]),
        Route(f"{FAULTS}/report", endpoint.report, methods=["GET"]),
        Route(f"{FAULTS}/mark", endpoint.mark, methods=["POST"]),
        Route(f"{FAULTS}/reset", endpoint.reset, methods=["POST"]),
        Route(f"{FAULTS}/clock", endpoint.clock, methods=["POST"]),
    ]


def _require_all(principal: Principal) -> None:
    """Raise `Refusal` (403) for a token that is not for all companies."""
    if principal.companies is not None:
        raise refuse(errors.ALL_COMPANIES)


def _listed(rules: Sequence[Rule]) -> dict[str, object]:
    return {"rules": [each.listed for each in rules]}


def _exchange(request: Request) -> Exchange:
    exchange: Exchange = request.scope["exchange"]
    return exchange


def _actor(request: Request) -> Actor:
    """The client in the audit log, once it is authenticated."""
    exchange = _exchange(request)
    return Actor(exchange.subject, exchange.client, exchange.id)


async def _body(request: Request) -> bytes:
    return await read_body(request.receive, combined(request.scope["headers"]), LONGEST_DOCUMENT)


def _trap(line: TrapLine) -> dict[str, Json]:
    """A line of the report; `recovered` is null for a trap that was not met."""
    return {
        "trap": line.trap,
        "meaning": TRAPS[line.trap].meaning,
        "remedy": TRAPS[line.trap].remedy,
        "met": line.met,
        "byFault": line.by_fault,
        "tooEarly": line.too_early,
        "recovered": line.recovery,
    }


def _json(content: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")
