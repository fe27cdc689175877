"""The record that a profile is, and its parts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self

from comptoir.profiles.values import ValueForms, Values

Treatment = Literal["evaluated", "refused", "ignored"]


@dataclass(frozen=True, slots=True)
class ResponseOverride:
    """The response to a group of refusals; `message` may contain their facts, as `{set}`.

    `retries`: the response says when to send the request again, in `Retry-After`. The envelope has
    its form in JSON. In XML, which a gateway sends, it has code and message alone; as "asked", a
    gateway sends them in JSON to clients that accept it, and otherwise in XML.
    """

    status: int
    code: str
    message: str
    retries: bool = True
    media: Literal["json", "xml", "asked", "empty"] = "json"


@dataclass(frozen=True, slots=True)
class Envelope:
    """The form of errors, and what every response has.

    `places`: an error has `target` and `details`. `suffix` ends each message; its `{id}` is the
    request's id as a Guid. `headers` are those by which a response names its profile, and `ids`
    those with this Guid. `media` is the `Content-Type` of errors, and `spaced`: in that of records,
    a space precedes each parameter. `translations` are messages in other languages.
    """

    places: bool
    suffix: str
    headers: Mapping[str, str]
    ids: tuple[str, ...]
    media: str
    spaced: bool
    translations: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class WriteRules:
    """The rules of writes.

    `tags` says, by method, whether a write requires an ETag; of creates, only those in the entity
    sets that guard them (operation 6). `body_tag`: an update may have it in `@odata.etag` of its
    body. `if_none_match`: writes obey this header, and an update with `*` creates the record.
    `put_replaces`: PUT sets the properties that its body omits to their defaults. `short_by` is the
    preference for a response without the record. `tag_of_created`: the response to a create has
    `ETag`. `related`: a create may have related records in its body. `computed`: values in a body
    that only the service sets are ignored, refused unless the record has them (`unchanged`), or
    always refused.
    """

    tags: Mapping[str, Literal["required", "optional", "ignored"]]
    body_tag: bool
    if_none_match: bool
    put_replaces: bool
    short_by: Literal["return=minimal", "return-no-content"]
    tag_of_created: bool
    related: bool
    computed: Literal["ignored", "unchanged", "refused"]


@dataclass(frozen=True, slots=True)
class BatchRules:
    """The rules of batches.

    `snapshot`: a batch with `Isolation: snapshot` is one transaction, and other requests may have
    this header; otherwise, it is refused. `json_stops`: a batch in JSON ends at the first error,
    without responses to the later requests, unless it prefers to continue. `ids`: each request in
    JSON must have one; otherwise, the response to a request without an id has the id null.
    `change_set` is the most requests of a change set, None for those of a batch. `merge`: a request
    with the method MERGE is refused by itself, and not the whole batch.
    """

    snapshot: bool
    json_stops: bool
    ids: bool
    change_set: int | None
    merge: bool


@dataclass(frozen=True, slots=True, eq=False)
class FilterRules:
    """The parts that filters may contain, and the meaning of their comparisons.

    A filter with a construct that is `refused` gets 501, and one with a construct that is `ignored`
    selects all records. `alternatives` are properties on both sides of an `or` that are not the
    same, `lists` the operator `in`, `nested_calls` functions of the results of functions, and
    `lambdas` the operators `any` and `all`.

    `ignores_case`: equality of texts ignores case. `null_is_blank`: null equals the blank value of
    a property. `lower_case`: in an order, `DESC` is not a direction. `any_case_names`: the case of
    names in `$select` does not matter.

    Dialects are compared by identity, since caches have them in their keys.
    """

    alternatives: Treatment
    lists: Treatment
    nested_calls: Treatment
    lambdas: Treatment
    ignores_case: bool
    null_is_blank: bool
    lower_case: bool
    any_case_names: bool


@dataclass(frozen=True, slots=True)
class Queries:
    """The rules of queries.

    `version` is the value of `$schemaversion` that selects `dialect`, which requests without it
    have too, and `others` are the dialects by other values. With a value in `renamed`, enumerations
    are written by captions in place of names, or by names in place of captions. An empty `version`:
    the option is not supported, and neither are the query options `unsupported`. `tracks_changes`:
    a client may ask for delta links. `next_link`: how the link to a next page says where that
    begins. `count_mark`: the text of a `$count` begins with a byte order mark.
    """

    dialect: FilterRules
    version: str
    others: Mapping[str, FilterRules]
    renamed: frozenset[str]
    unsupported: frozenset[str]
    tracks_changes: bool
    next_link: Literal["sort values", "last record"]
    count_mark: bool

    @property
    def dialects(self) -> Mapping[str | None, FilterRules]:
        """The dialects by `$schemaversion`; the one without it by None."""
        same = [(each, self.dialect) for each in (None, self.version, *self.renamed)]
        return dict([*same, *self.others.items()])

    @property
    def versions(self) -> frozenset[str]:
        """The values of `$schemaversion`."""
        return frozenset({self.version, *self.renamed, *self.others} - {""})


@dataclass(frozen=True, slots=True)
class Routes:
    """The addresses of the API besides `base_path`, each an environment followed by an API.

    `environments` are paths, in which names may be in braces: `tenant` (one of `oauth_tenants`), or
    what `names` has values for. Each has the challenge to requests without valid credentials; if
    it is empty, that for bearer tokens. `apis`
    are paths too, each with the group of the refusals of a path below it that names nothing.
    `joins_slashes` is the API in whose paths several slashes in a row are read as one. `basic`: at
    these addresses, a request may have the id or the name and a secret of a client by HTTP Basic,
    in place of a token. `sets_at_root`: service documents and `$metadata` of a service root have
    the entity sets of companies, because requests there may name their company in an option or a
    header.
    `definitions`: a service root has `entityDefinitions`, the captions of sets and properties.
    """

    environments: Mapping[str, str]
    apis: Mapping[str, str]
    joins_slashes: str
    basic: bool
    sets_at_root: bool
    definitions: bool
    names: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The rules of subscriptions. Times are in seconds.

    A receiver has `handshake` for its answer before a subscription lasts `lifetime`, and there may
    be `most` subscriptions, `most_of_client` of one client. Changes are sent `delay` after the
    first one, and as one notification of the collection if there would be more than `over`. A
    delivery that gets no answer, or a status in `retried`, is repeated after each wait of
    `retries`; then the subscription is deleted.
    """

    handshake: float
    lifetime: float
    most: int
    most_of_client: int
    delay: float
    over: int
    retries: tuple[float, ...]
    retried: frozenset[int]

    def scaled(self, factor: float) -> "Hooks":
        """The same rules with waits that are shorter by a factor; receivers get no less time."""
        return replace(
            self,
            lifetime=self.lifetime / factor,
            delay=self.delay / factor,
            retries=tuple([wait / factor for wait in self.retries]),
        )


@dataclass(frozen=True, slots=True)
class Tokens:
    """The responses of the token endpoint.

    `seconds` is how long a token is valid. `numbered`: the description of an error begins with the
    error's number, as in `AADSTS70011`.
    """

    seconds: int
    numbered: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile.

    The override of a refusal is that of its group in `errors`, or else that of its error's code
    in `codes`; without either, the response is that of the error. `settings` are other defaults of
    settings. `shows_limits`: responses have the client's limits in `RateLimit`.
    `sliding_rates`: rates are counted in a sliding window, and else replaced evenly. Without
    `hooks` there are no subscriptions.
    """

    settings: Mapping[str, str | int | float]
    envelope: Envelope
    errors: Mapping[str, ResponseOverride]
    codes: Mapping[str, ResponseOverride]
    shows_limits: bool
    sliding_rates: bool
    tokens: Tokens
    writes: WriteRules
    values: Values
    forms: ValueForms
    queries: Queries
    batches: BatchRules
    routes: Routes
    hooks: Hooks | None

    def without_relations(self) -> Self:
        """The same profile, in which a value may name a record that does not exist."""
        return replace(self, values=self.values.without_relations())

    def without_interface_extensions(self) -> Self:
        """The same profile, without the interface's shapes that the other product lacks."""
        forms = replace(self.forms, captioned=frozenset(), interface_extensions=False)
        return replace(self, writes=replace(self.writes, computed="refused"), forms=forms)
