"""The input of a verb: the request, the target of its path, its options, and the runtime."""

from collections.abc import Awaitable, Callable
from functools import lru_cache

import msgspec

from comptoir.auth import Principal
from comptoir.config import Settings
from comptoir.edm.model import Company, EntitySet, Model
from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, Refusal
from comptoir.plan.expressions.binding_context import AliasTexts, BindingContext
from comptoir.plan.read import Computed
from comptoir.plan.target import Target
from comptoir.request.accept import Format
from comptoir.request.access import Access
from comptoir.request.expression import ExpressionLimits
from comptoir.request.headers import Headers
from comptoir.request.options import NO_OPTIONS, QueryOptions
from comptoir.response.records import WHOLE, RecordShape, RecordWriter
from comptoir.response.response import Header, Response
from comptoir.store.protocol import Patience, Reads, Store


class Request(msgspec.Struct):
    """A request on the interface: `path` and `query` are percent-encoded, the path without base.

    `read_body` reads the body, within the limit, when an operation gets to it; `patience` awaits
    long reads while the client does; `access` is None for one that says nothing of it.
    """

    method: str
    path: str
    query: str
    headers: Headers
    principal: Principal
    read_body: Callable[[], Awaitable[bytes]]
    patience: Patience
    access: Access | None = None


class Runtime:
    """What all verbs work with: the model, the store that holds its records, the settings."""

    def __init__(self, model: Model, store: Store, settings: Settings) -> None:
        self.model = model
        self.store = store
        self.settings = settings
        self.base_url = settings.base_url
        self.limits = ExpressionLimits(
            nodes=settings.expression_nodes,
            depth=settings.expression_depth,
            in_list=settings.expression_list,
        )
        self._plain_contexts = {
            each: BindingContext(model, each, self.limits) for each in model.sets
        }

    def binding_context(
        self, entity_set: EntitySet, aliases: AliasTexts = (), computed: Computed = ()
    ) -> BindingContext:
        """What expressions over a set's records are bound on."""
        if aliases or computed:
            return BindingContext(self.model, entity_set, self.limits, computed, aliases)
        return self._plain_contexts[entity_set]


@lru_cache(1_000)
def record_writer(entity_set: EntitySet, form: Format, shape: RecordShape = WHOLE) -> RecordWriter:
    """What writes a set's records in a format and a shape."""
    return RecordWriter(entity_set, form, shape)


class Context(msgspec.Struct):
    """A request with the target of its path, its query options, and the store for its reads."""

    request: Request
    target: Target
    company: Company | None
    options: QueryOptions
    records: RecordWriter
    reads: Reads

    @property
    def entity_set(self) -> EntitySet:
        """The set that the path names."""
        return self.target.entity_set

    def under(self) -> Company:
        """The company that a write is under."""
        if self.company is None:
            raise LookupError(f"{self.entity_set.name} is written under no company")
        return self.company

    def headers(self) -> list[Header]:
        """The headers of an answer with records."""
        return [(b"content-type", self.records.media_type), (b"odata-version", b"4.0")]


Verb = Callable[[Context], Awaitable[Response]]
"""Answers a request whose path and method are in order; raises `Refusal`."""


FORMATTING = frozenset({"$format"})
"""The query options of what has a form, but no records to choose from."""

COUNTING = frozenset(
    {"$apply", "$expand", "$filter", "$orderby", "$search", "$select", "$skip", "$top"}
)
"""The query options that a count takes; it depends on `$apply`, `$filter` and `$search` alone."""

COLLECTING = frozenset(
    {
        "$apply",
        "$compute",
        "$count",
        "$deltatoken",
        "$expand",
        "$filter",
        "$format",
        "$orderby",
        "$search",
        "$select",
        "$skip",
        "$skiptoken",
        "$top",
    }
)
"""The query options that a collection takes."""

REFERRING = COLLECTING - {"$apply", "$compute", "$expand", "$select"}
"""The query options that a collection of references takes: they have no fields to choose."""

VIEWING = frozenset({"$compute", "$expand", "$format", "$select"})
"""The query options that a single record takes."""

_SUPPORTED = COLLECTING


def refuse_options(options: QueryOptions, what: str) -> None:
    """Raise `Refusal` (400) for query options where none apply."""
    if options is not NO_OPTIONS:
        allow_options(options, frozenset(), what)


def allow_options(options: QueryOptions, allowed: frozenset[str], what: str) -> None:
    """Raise `Refusal` for query options other than the allowed ones.

    400, but 501 for those that nothing here takes.
    """
    for name in options.given:
        if name not in _SUPPORTED:
            raise Refusal(
                NOT_IMPLEMENTED,
                f"The query option {name} is not supported. Ask without it.",
                target=name,
            )
        if name not in allowed:
            raise Refusal(
                INVALID_URL, f"{name} does not apply to {what}. Leave it out.", target=name
            )
