"""The resource `subscriptions`: who is notified of the changes of which records."""

import logging
import re
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.auth.origins import own_origins
from comptoir.auth.roles import Right, require
from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.edm.overlay import instant_type
from comptoir.edm.record_json import encoded_tag
from comptoir.edm.times import Clock
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.features.notifications import errors
from comptoir.features.notifications.notifications import at, in_form
from comptoir.features.notifications.subscriptions import (
    NEEDED,
    Subscription,
    Subscriptions,
    new_id,
)
from comptoir.jsonvalue import Json, json_type
from comptoir.outgoing import OutgoingError, Post
from comptoir.plan.target import Resource, check_readable, resolve
from comptoir.profiles.record import Hooks
from comptoir.request.headers import entity_tags, response_format, spaced_format
from comptoir.request.options import OptionParser
from comptoir.request.path import COMPANIES, Segment, company_id_of, parse_path
from comptoir.request.payload import parse_object, require_json
from comptoir.response.records import decoded_opaque
from comptoir.response.response import ODATA_VERSION, Header, Response
from comptoir.service.context import FORMAT_OPTIONS, Request, allow_options
from comptoir.store.store import Store

NAME = "subscriptions"
_KEY = "subscriptionId"
_TYPE = "subscription"

_WRITABLE = ("notificationUrl", "resource", "clientState")
_READ_ONLY = (_KEY, "expirationDateTime", "lastModifiedDateTime", "systemCreatedAt")

_PREFIX = re.compile(r"[\w.~/-]{0,200}", re.ASCII)

LONGEST_STATE = 2_048
"""The most characters of `clientState`."""

_ON_ALL, _ON_ONE = ("GET", "POST"), ("GET", "PATCH", "DELETE")
"""The methods on all subscriptions, and on one."""

_log = logging.getLogger(__name__)


class SubscriptionResource:
    """Answers requests for subscriptions; each client has its own.

    `clock` is the profile's, in epoch seconds.
    """

    paths = re.compile(rf"/{NAME}(?:\([^/]*\))?/?", re.ASCII)

    def __init__(
        self, store: Store, model: Model, settings: Settings, hooks: Hooks, post: Post, clock: Clock
    ) -> None:
        self._store = store
        self._model = model
        self._hooks = hooks
        self._post = post
        self._clock = clock
        forms, envelope = settings.behaviour.forms, settings.behaviour.envelope
        self._instants = instant_type(forms)
        self._encodes_tags = forms.tags == "base64"
        self._format_of = spaced_format if envelope.spaced else response_format
        queries = settings.behaviour.queries
        self._options = OptionParser(queries.versions, queries.unsupported)
        self._origins = own_origins(settings)
        self._subscriptions = Subscriptions(store)

    async def handle(self, request: Request) -> Response:
        """Answer a request; raises `Refusal` unless the request succeeds."""
        (segment,) = parse_path(request.path)
        key = _key(segment)
        method = "GET" if request.method == "HEAD" else request.method
        methods = _ON_ALL if key is None else _ON_ONE
        if method not in methods:
            row = rows.METHOD_ON_SET if key is None else rows.METHOD
            allowed = ", ".join(["HEAD", *methods])
            raise row(method=request.method, resource=NAME, allowed=allowed, set=NAME)
        options = self._options.parse(request.query)
        form = self._format_of(request.headers, options.format)
        for scope in sorted(NEEDED):
            require(request.principal, scope)
        allow_options(options, FORMAT_OPTIONS, NAME)
        headers = ((b"content-type", form.media_type), ODATA_VERSION)
        if key is None:
            answer = self._create if method == "POST" else self._list
            return await answer(request, headers)
        found = await self._subscriptions.find(key)
        if found is None or not _is_own(found, request):
            raise errors.UNKNOWN_SUBSCRIPTION(key=key, set=NAME)
        if method == "PATCH":
            return await self._renew(request, headers, found)
        if method == "DELETE":
            return await self._delete(request, found)
        return self._one(request, 200, headers, found)

    async def _list(self, request: Request, headers: Sequence[Header]) -> Response:
        own = [each for each in await self._subscriptions.everywhere() if _is_own(each, request)]
        context = {"@odata.context": request.root.context(f"/{NAME}")}
        shown = {**context, "value": [self._shown(each) for each in own]}
        return Response(200, list(headers), msgspec.json.encode(shown))

    async def _create(self, request: Request, headers: Sequence[Header]) -> Response:
        sent = await _sent(request)
        url, resource = _text(sent, "notificationUrl"), _text(sent, "resource")
        state = _state(sent, "")
        company_id, entity_set, shown = await self._located(request, resource)
        check = partial(self._check_room, request.principal.subject)
        check(await self._subscriptions.everywhere())
        await shake_hands(url, self._post, self._hooks.handshake)
        now = self._clock()
        subscription = Subscription(
            id=new_id(company_id),
            owner=request.principal.subject,
            url=url,
            sets=entity_set.name,
            resource=shown,
            client_state=state,
            version=1,
            expires_at=int(now + self._hooks.lifetime),
            created_at=at(now),
            modified_at=at(now),
        )
        act = _act(ActName.SUBSCRIPTION_ADD, request, subscription)
        await self._subscriptions.add(subscription, act, check)
        link = request.root.address(f"/{NAME}('{subscription.id}')").encode()
        return self._one(request, 201, [*headers, (b"location", link)], subscription)

    def _check_room(self, owner: str, known: Sequence[Subscription]) -> None:
        """Raise `Refusal` (400) if another subscription of a client would be too many."""
        own = sum(each.owner == owner for each in known)
        if own >= self._hooks.most_of_client:
            raise errors.TOO_MANY_SUBSCRIPTIONS(party="client", most=self._hooks.most_of_client)
        if len(known) >= self._hooks.most:
            raise errors.TOO_MANY_SUBSCRIPTIONS(party="service", most=self._hooks.most)

    async def _renew(
        self, request: Request, headers: Sequence[Header], found: Subscription
    ) -> Response:
        sent = await _sent(request)
        self._check_tag(request, found)
        if "resource" in sent:
            company_id, entity_set, _ = await self._located(request, _text(sent, "resource"))
            if (company_id, entity_set.name) != (found.company_id, found.sets):
                raise errors.RESOURCE_CHANGED("resource")
        url = _text(sent, "notificationUrl") if "notificationUrl" in sent else found.url
        state = _state(sent, found.client_state)
        await shake_hands(url, self._post, self._hooks.handshake)
        now = self._clock()
        renewed = msgspec.structs.replace(
            found,
            url=url,
            client_state=state,
            version=found.version + 1,
            expires_at=int(now + self._hooks.lifetime),
            modified_at=at(now),
        )
        act = _act(ActName.SUBSCRIPTION_RENEW, request, renewed)
        if not await self._subscriptions.change(found, renewed, act):
            raise errors.SUBSCRIPTION_CHANGED("If-Match")
        return self._one(request, 200, headers, renewed)

    async def _delete(self, request: Request, found: Subscription) -> Response:
        self._check_tag(request, found)
        act = _act(ActName.SUBSCRIPTION_REMOVE, request, found)
        if not await self._subscriptions.change(found, None, act):
            raise errors.SUBSCRIPTION_CHANGED("If-Match")
        return Response(204, [ODATA_VERSION])

    def _one(
        self, request: Request, status: int, headers: Sequence[Header], found: Subscription
    ) -> Response:
        context = {"@odata.context": request.root.context(f"/{NAME}/$entity")}
        shown = {**context, **self._shown(found)}
        return Response(status, list(headers), msgspec.json.encode(shown))

    def _shown(self, subscription: Subscription) -> dict[str, str]:
        return {
            "@odata.etag": self._tag(subscription),
            _KEY: subscription.id,
            "notificationUrl": subscription.url,
            "resource": subscription.resource,
            "clientState": subscription.client_state,
            "expirationDateTime": in_form(at(subscription.expires_at), self._instants),
            "lastModifiedDateTime": in_form(subscription.modified_at, self._instants),
            "systemCreatedAt": in_form(subscription.created_at, self._instants),
        }

    def _tag(self, subscription: Subscription) -> str:
        opaque = _opaque_tag(subscription)
        return f'W/"{encoded_tag(opaque) if self._encodes_tags else opaque}"'

    def _check_tag(self, request: Request, found: Subscription) -> None:
        """Raise `Refusal` unless `If-Match` has the ETag of a subscription."""
        tags = entity_tags(request.headers, b"if-match")
        if tags is None:
            raise rows.UNTAGGED("If-Match", action="Changing", what="subscription")
        if not (decoded_opaque(tags) if self._encodes_tags else tags).contain(_opaque_tag(found)):
            raise errors.SUBSCRIPTION_CHANGED("If-Match")

    async def _located(self, request: Request, resource: str) -> tuple[str, EntitySet, str]:
        """The company and the set that a resource names, and the path that notifications have.

        The resource is the URL or the path of a collection, with or without the base path; what it
        has in front of the company is repeated in the notifications. Raises `Refusal` (400, 403).
        """
        untracked = errors.UNTRACKED_RESOURCE("resource", resource=resource)
        try:
            parts = urlsplit(resource)
            prefix, found, rest = parts.path.partition(f"{COMPANIES}(")
            segments = parse_path(found + rest)
            company_id = company_id_of(segments)
            target = resolve(self._model, segments, company_id, at_root=False)
        except (ValueError, Refusal):
            raise untracked from None
        origin = f"{parts.scheme}://{parts.netloc}".lower()
        is_own = origin in self._origins or not (parts.scheme or parts.netloc)
        if not is_own or parts.query or _PREFIX.fullmatch(prefix) is None:
            raise untracked
        entity_set, principal = target.entity_set, request.principal
        is_whole = target.resource is Resource.COLLECTION and not target.steps
        if company_id is None or not is_whole or not entity_set.tracks_changes:
            raise untracked
        if not principal.reaches(company_id) or await self._store.company(company_id) is None:
            raise untracked
        if principal.rights is not None:
            check_readable(entity_set, principal.rights[Right.READ])
        root = prefix.strip("/") or urlsplit(request.root.url).path.strip("/")
        return company_id, entity_set, f"{root}/{COMPANIES}({company_id})/{entity_set.name}"


def _key(segment: Segment) -> str | None:
    """The id in a path, None for all subscriptions; raises `Refusal` (400)."""
    if segment.key is None:
        return None
    if len(segment.key) != 1 or segment.key[0].name not in (None, _KEY):
        raise errors.SUBSCRIPTION_KEY()
    return segment.key[0].text


def _is_own(subscription: Subscription, request: Request) -> bool:
    principal = request.principal
    return subscription.owner == principal.subject and principal.reaches(subscription.company_id)


def _opaque_tag(subscription: Subscription) -> str:
    """A tag in the form of a record's, with zeros in place of the company's incarnation."""
    return f"{0:08x}.{subscription.version}"


async def _sent(request: Request) -> Mapping[str, Json]:
    """The properties of a body; raises `Refusal` (400, 415)."""
    require_json(request.headers)
    sent = parse_object(await request.read_body())
    for name in sent:
        if name not in _WRITABLE and name not in _READ_ONLY:
            owner = f"The {_TYPE}"
            raise rows.UNKNOWN_PROPERTY(
                name[:80], known=_WRITABLE, owner=owner, name=name[:80], type=_TYPE
            )
    return sent


def _text(sent: Mapping[str, Json], name: str) -> str:
    value = sent.get(name)
    if value is None or value == "":
        raise errors.MISSING_TEXT(name, name=name)
    if not isinstance(value, str):
        raise errors.NOT_A_TEXT(name, name=name, json=json_type(value))
    if "\0" in value:
        raise errors.NUL_IN_TEXT(name, name=name)
    return value


def _state(sent: Mapping[str, Json], former: str) -> str:
    if "clientState" not in sent:
        return former
    state = "" if sent["clientState"] in (None, "") else _text(sent, "clientState")
    if len(state) > LONGEST_STATE:
        raise errors.LONG_STATE("clientState", limit=LONGEST_STATE)
    return state


def _act(name: ActName, request: Request, subscription: Subscription) -> Act:
    actor = Actor(request.principal.subject)
    return Act(actor, name, subscription.id, subscription.listed)


async def shake_hands(url: str, post: Post, seconds: float) -> None:
    """Raise `Refusal` (400) unless a URL responds with the token that it is sent."""
    if "#" in url:
        fragment = url[url.index("#") :]
        raise errors.URL_FRAGMENT("notificationUrl", fragment=fragment)
    token = str(uuid4())
    separator = "&" if "?" in url else "?"
    reason = ""
    try:
        answer = await post(f"{url}{separator}validationToken={token}", b"", seconds)
    except OutgoingError as error:
        _log.warning("a handshake failed: %s", error)
        reason = error.public
    else:
        if answer.status != HTTPStatus.OK:
            reason = f"it responded with status {answer.status}"
        elif answer.body.strip() != token.encode():
            reason = "it responded with another body"
    if reason:
        raise errors.HANDSHAKE_FAILED("notificationUrl", reason=reason, seconds=seconds)
