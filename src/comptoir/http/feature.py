"""The seam: what an optional part of the service may add to it, and what it may use of it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from comptoir.auth.authentication import Authenticator
from comptoir.auth.failures import Failures
from comptoir.auth.issuers import OutsideIssuers
from comptoir.auth.keys import KeyFolder
from comptoir.auth.limits import Limits
from comptoir.auth.records import Registry
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.edm.times import Clock
from comptoir.errors.refusal import Refusal
from comptoir.http.exchange import Exchange, Observe
from comptoir.http.log import Journal
from comptoir.http.metrics import Metrics
from comptoir.http.routes import Routes
from comptoir.outgoing import DeliveryFaults, PostForm
from comptoir.response.response import Response
from comptoir.service import Request, Service
from comptoir.store.jobs import Job
from comptoir.store.store import Store

Answer = Callable[[Request, Exchange], Awaitable[Response]]


class AtomicWrites(Protocol):
    """The writes of an atomic group."""

    async def add(self, request: Request) -> str | None:
        """Plan a write; returns the path of its record if that is known."""

    async def commit(self, refused: Refusal | None = None) -> list[Response]:
        """Do all writes or none; returns their responses.

        `refused` is the refusal of the request after them. Raises `GroupRefusedError` if that or
        one of them is refused, and `Refusal`.
        """


class Link(NamedTuple):
    """A link of the front page: its name in JSON and for people, and its address.

    `href` is relative where that works, because the page may be read by another host name.
    """

    name: str
    title: str
    about: str
    url: str
    href: str


class Notice(NamedTuple):
    """A warning on every page for operators, until a time in epoch seconds; None for no end."""

    text: str
    until: float | None


class Mount(NamedTuple):
    """An application that handles requests by itself, and whether it has a request."""

    has: Callable[[Scope], bool]
    application: ASGIApp


@dataclass(frozen=True, slots=True)
class Kernel:
    """The service to which parts are added; `features` are these parts, in their order.

    Each of the `observers` is asked to observe each exchange. A part adds and removes its own.
    """

    settings: Settings
    model: Model
    store: Store
    service: Service
    routes: Routes
    registry: Registry
    keys: KeyFolder
    issuers: OutsideIssuers
    limits: Limits
    failures: Failures
    journal: Journal
    metrics: Metrics
    clock: Clock
    post_form: PostForm
    features: "Sequence[Feature]"
    observers: list[Observe]


class Feature:
    """An optional part of the service: what it adds; by default, nothing.

    A service reads each member once, when it starts. `clock` is that of tokens and days in seconds
    since 1970, and `monotonic` that of rates, if they are not the real ones. `screen` is the place
    of its screen for operators, as `module:name`.
    """

    clock: Clock | None = None
    monotonic: Clock | None = None
    delivery_faults: DeliveryFaults | None = None
    screen: str = ""

    def __init__(self, settings: Settings, model: Model) -> None:
        """Raise `OperatorError` for settings that it cannot use."""

    def check_start(self, config: str | None) -> None:
        """Raise `OperatorError` if `comptoir serve` must not start; `config` is its file's path."""

    def announce(self, *, is_quickstart: bool) -> None:
        """Print lines when `comptoir serve` begins to serve."""

    def serving(self) -> AbstractContextManager[None]:
        """What is done as long as `comptoir serve` runs, once for all of its workers."""
        return nullcontext()

    def addresses(self, store: Store) -> Routes | None:
        """The addresses of the API, if they are more than the base path."""
        return None

    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        """Run the part as long as its service runs."""
        yield

    def jobs(self) -> Iterable[Job]:
        """What runs as long as the opened service does; cancelled before the part is closed."""
        return ()

    def routes(self, operator: Authenticator) -> Sequence[Route]:
        """The pages outside the API; the authenticator knows tokens by the real clock."""
        return ()

    def mounts(self) -> Sequence[Mount]:
        """The applications that handle requests by themselves."""
        return ()

    def links(self) -> Sequence[Link]:
        """The links of the front page."""
        return ()

    def conditions(self) -> Sequence[str]:
        """Lines of `/readyz`."""
        return ()

    def notices(self) -> Sequence[Notice]:
        """The warnings to operators."""
        return ()

    def around(self, answer: Answer) -> Answer:
        """What answers a request to the API, or of a batch, in place of `answer`."""
        return answer

    def around_group(self, group: AtomicWrites, exchange: Exchange) -> AtomicWrites:
        """What does the writes of an atomic group in place of `group`."""
        return group

    async def failing(self, batch: Request, exchange: Exchange) -> tuple[int, Refusal] | None:
        """The number of the request, from 0, at which a batch that is a transaction fails.

        None for a batch that does not.
        """
        return None

    async def awaited(self, company_id: str) -> Sequence[str]:
        """The times of changes of a company that it has yet to read, which are kept for it."""
        return ()

    async def mark(self) -> None:
        """Remember the state to which `reset` returns."""

    async def reset(self) -> None:
        """Return to the state at the mark."""


def answer_through(features: Sequence[Feature], answer: Answer) -> Answer:
    """The function that answers requests in place of `answer`; the first feature is outermost."""
    for each in reversed(features):
        answer = each.around(answer)
    return answer
