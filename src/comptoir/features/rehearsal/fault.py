"""The base of faults: parameters, a form in text, and what a fault does to a request.

A fault is written as in the header `Comptoir-Fault`: its name and its parameters, separated by
semicolons, such as `throttle; retry-after=2`.
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, field
from email.utils import formatdate
from enum import StrEnum
from types import MappingProxyType
from typing import ClassVar, Self, TypeVar, dataclass_transform

import msgspec

from comptoir.auth.roles import Principal
from comptoir.edm.model import Company, EntitySet
from comptoir.errors.refusal import Refusal
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.entries import Firing, Trap
from comptoir.features.rehearsal.pinned_reads import StaleReads
from comptoir.http.exchange import Exchange
from comptoir.outgoing import DeliveryFault
from comptoir.plan.target import Target
from comptoir.response.response import Response, whole_body
from comptoir.service import Request, Service

_DATE_SECONDS = 30
"""The seconds from now to a date in `Retry-After`."""
_HTML = b"text/html; charset=us-ascii"
_GATEWAY_PAGES: Mapping[int, tuple[str, str]] = {
    502: ("Bad Gateway", "HTTP Error 502. The gateway received an invalid response."),
    503: ("Service Unavailable", "HTTP Error 503. The service is unavailable."),
    504: ("Gateway Timeout", "HTTP Error 504. The gateway received no response in time."),
}
RetryAfter = int | str | None

HEADER = "Comptoir-Fault"
"""The header by which a request asks for a fault."""

FaultValue = int | float | str

_INTEGER = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,3})?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
_BEFORE_WORD = re.compile("(?<!^)(?=[A-Z])")

_PARAMETER = "parameter"

V = TypeVar("V", bound=FaultValue | None)


class Stage(StrEnum):
    """The place of a fault: a request, a whole batch, or the delivery of a notification."""

    REQUEST = "request"
    BATCH = "batch"
    DELIVERY = "delivery"


class Candidate(msgspec.Struct, frozen=True):
    """A candidate for a fault: a request, a batch, or the delivery of a notification.

    `path` is below the base path, and `address` the path at the address that the client used, if
    it is another one. `client` is the subject of the token, or the owner of the subscription.
    `entity_set` is empty for a request that addresses none, and `page` the number of the requested
    page of a list, 0 for another request. `is_record`: the request addresses a record that can
    change. `company` is the id of the company of what it addresses, empty without one.
    """

    method: str
    path: str
    entity_set: str
    client: str
    stage: Stage = Stage.REQUEST
    page: int = 0
    is_record: bool = False
    address: str = ""
    company: str = ""


class AffectedRequest(msgspec.Struct, frozen=True):
    """A request that meets a fault, with all that the fault may use.

    `perform` performs it, or raises `Refusal`. `addressed` is its target, None if that is not of an
    entity set. `previous` is the query of the page before the requested one.
    """

    fault: "Fault"
    firing: Firing
    perform: Callable[[], Awaitable[Response]]
    exchange: Exchange
    request: Request
    addressed: Target | None
    service: Service
    views: StaleReads
    previous: str

    @property
    def target(self) -> Target:
        """The target of the request, for a fault that `needs_set`."""
        if self.addressed is None:
            raise LookupError(self.request.path)
        return self.addressed


class FaultParameter(msgspec.Struct, frozen=True):
    """A parameter of a fault: one of `words`, a number from `low` to `high`, or a name.

    A number may have a fraction if `low` is a `float`. Without a `default`, a fault may omit it.
    `only_with` is another parameter and the value that it needs, None for one that excludes it.
    """

    meaning: str
    default: FaultValue | None = None
    low: float | None = None
    high: float = 0
    words: tuple[str, ...] = ()
    only_with: tuple[str, str | None] | None = None

    def value(self, name: str, text: str, place: str) -> FaultValue:
        """The value in a text; raises `Refusal` (400)."""
        if text in self.words:
            return text
        if self.low is not None:
            form = _INTEGER if isinstance(self.low, int) else _NUMBER
            number = float(text) if form.fullmatch(text) else None
            if number is not None and self.low <= number <= self.high:
                return int(number) if number.is_integer() else number
        elif not self.words and _NAME.fullmatch(text):
            return text
        named = f"{name} in {place}"
        raise errors.INVALID(place, value=text, place=named, wanted=self.values)

    @property
    def values(self) -> str:
        """The values of the parameter, in words."""
        expected = list(self.words)
        if self.low is not None:
            kind = "an integer" if isinstance(self.low, int) else "a number"
            expected.append(f"{kind} from {self.low:.15g} to {self.high:.15g}")
        return " or ".join(expected) or "the name of a property"


def parameter(
    meaning: str,
    default: V,
    low: float | None = None,
    high: float = 0,
    *,
    words: tuple[str, ...] = (),
    only_with: tuple[str, str | None] | None = None,
) -> V:
    """A field of a fault for a parameter; None is not written."""
    form = FaultParameter(meaning, default, low, high, words, only_with)
    return field(default=default, metadata={_PARAMETER: form})


def word(meaning: str, *words: str) -> str:
    """A field of a fault for a parameter that is one of some words, by default the first."""
    return parameter(meaning, words[0], words=words)


@dataclass_transform(frozen_default=True)
class Fault:
    """A fault with the values of its parameters; each is a subclass with its name.

    The first paragraph of its docstring is what the reference says a client meets.
    `methods` are those of the requests on which it can act; empty for all. With `needs_set`, these
    address an entity set. One with `ends_token` also acts on all later requests with the same
    token, and one that `remembers` depends on what was done before. Each leads a client into its
    `trap`, and into one of `traps_with` if it has that parameter. Every request meets a fault with
    a `window` for these seconds, once it has begun.
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    parameters: ClassVar[Mapping[str, FaultParameter]]
    stage: ClassVar[Stage] = Stage.REQUEST
    methods: ClassVar[frozenset[str]] = frozenset()
    needs_set: ClassVar[bool] = False
    ends_token: ClassVar[bool] = False
    remembers: ClassVar[bool] = False
    trap: ClassVar[Trap | None] = None
    traps_with: ClassVar[Sequence[tuple[str, Trap]]] = ()
    window: int | None = None
    retry_after: RetryAfter = None

    def __init_subclass__(cls) -> None:
        cls.name = _BEFORE_WORD.sub("-", cls.__name__).lower()
        cls.meaning = " ".join((cls.__doc__ or "").partition("\n\n")[0].split())
        cls.parameters = {
            name.replace("_", "-"): each.metadata[_PARAMETER]
            for name, each in vars(cls).items()
            if isinstance(each, Field)
        }
        dataclass(frozen=True)(cls)

    @classmethod
    def written(cls, texts: Mapping[str, str], place: str) -> Self:
        """The fault with the values in texts, else the defaults; raises `Refusal` (400)."""
        given = {name: cls.parameters[name].value(name, texts[name], place) for name in texts}
        values = {name: given.get(name, form.default) for name, form in cls.parameters.items()}
        for name, form in cls.parameters.items():
            if form.only_with is None or values[form.only_with[0]] == form.only_with[1]:
                continue
            other, needed = form.only_with
            values[name] = None
            if name in given and needed is None:
                raise errors.EXCLUDED(place, one=name, other=other, place=place)
            if name in given:
                wanted = f"{other}={needed}"
                raise errors.WITHOUT_EFFECT(place, name=name, place=place, needed=wanted)
        make: Callable[..., Self] = cls
        return make(**{name.replace("-", "_"): value for name, value in values.items()})

    @property
    def text(self) -> str:
        """The fault as it is written."""
        values = {name: getattr(self, name.replace("-", "_")) for name in self.parameters}
        written = [f"{name}={value}" for name, value in values.items() if value is not None]
        return "; ".join([self.name, *written])

    @property
    def wait_seconds(self) -> float:
        """The seconds that the client is asked to wait; 0 where the profile decides."""
        if isinstance(self.retry_after, int):
            return self.retry_after
        return _DATE_SECONDS if self.retry_after == "date" else 0

    def traps(self) -> Sequence[Trap]:
        """The traps into which the fault leads a client."""
        found = [trap for written, trap in self.traps_with if written in self.text]
        return found if self.trap is None else [self.trap, *found]

    def check(self, sets: Sequence[EntitySet], place: str) -> None:
        """Raise `Refusal` (400) if the fault, which is at `place`, can act on none of the sets."""

    def check_header(self, principal: Principal) -> None:
        """Raise `Refusal` (403) if a client may ask for the fault by a rule only."""

    def can_meet(self, asked: Candidate) -> bool:
        """Whether the fault can act on a candidate, whose stage, method and set it can."""
        return True

    async def before_write(self, company: Company, views: StaleReads) -> None:
        """Keep the state before a write, for a fault that remembers."""

    def refusal(self, affected: AffectedRequest) -> Refusal | None:
        """The refusal of a request in its place; None if the fault acts in another way."""
        return None

    async def act(self, affected: AffectedRequest) -> Response:
        """The response in place of that of the request, which the fault may perform.

        Raises `Refusal`, of the fault or of the request.
        """
        refusal = self.refusal(affected)
        if refusal is not None:
            raise refusal
        return await affected.perform()

    def unavailable(self) -> Refusal:
        """The refusal in place of a gateway's page, where only the service can respond."""
        return errors.AWAY(headers=retry_headers(self.retry_after))

    def failing(self) -> tuple[int, Refusal]:
        """The number of the request at which a batch fails, and its refusal."""
        raise NotImplementedError

    def delivery(self, note: Callable[[], None]) -> DeliveryFault:
        """The fault of a delivery, which calls `note` once it has acted."""
        raise NotImplementedError


def has_changes(entity_set: EntitySet) -> bool:
    """Whether the service can change the record that a key names."""
    return not (entity_set.read_only or entity_set.key_narrows)


def retry_parameter() -> RetryAfter:
    """A field of a fault for the header `Retry-After`."""
    given: RetryAfter = None
    return parameter(
        "The seconds in `Retry-After`; `date` for a date in 30 seconds, `none` for no header. By "
        "default, the profile decides.",
        given,
        0,
        3_600,
        words=("date", "none"),
    )


def retry_headers(wish: RetryAfter) -> Mapping[str, str]:
    """The header `Retry-After`."""
    if wish is None:
        return {"Retry-After": "1"}
    if wish == "none":
        return {}
    # a profile leaves out a header that it names `Retry-After`, but not one that a rule asks for
    if wish == "date":
        return {"retry-after": formatdate(time.time() + _DATE_SECONDS, usegmt=True)}
    return {"retry-after": str(wish)}


def gateway_page(status: int, headers: Mapping[str, str] = MappingProxyType({})) -> Response:
    """The page of a gateway, which has neither the form nor the media type of the service."""
    title, text = _GATEWAY_PAGES[status]
    page = f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>"
    sent = [(b"content-type", _HTML)]
    sent += [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return Response(status, sent, page.encode())


async def lose(affected: AffectedRequest) -> None:
    """Perform a request whose response is lost."""
    with suppress(Refusal):
        await whole_body(await affected.perform())
