"""The record that a profile is, and its parts, with the values of the profile `standard`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

import msgspec
from msgspec import Meta
from msgspec.structs import replace

NAMESPACE, CONTAINER = "Comptoir", "Container"
"""The names of the schema and of its container, as the model is declared."""

Members = Sequence[tuple[str, str]]
"""The names and captions of the members of an enumeration."""


def about(text: str) -> Meta:
    """What the reference and the JSON Schema of a catalog's file say of an option."""
    return Meta(description=text)


class NamedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The records that the values of a field name."""

    set: Annotated[str, about("Their set.")]
    by: Annotated[str, about("The property with the name.")]
    only: Annotated[Mapping[str, str], about("A value that they have.")] = {}
    when: Annotated[Mapping[str, str], about("A value that the record with the field has.")] = {}


class FieldOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a table of Business Central."""

    caption: Annotated[str, about("Its name, for messages.")]
    length: Annotated[int | None, about("The most characters.")] = None
    code: Annotated[bool, about("A text without blanks around it, in upper case.")] = False
    enum: Annotated[str, about("The enumeration of its values.")] = ""
    required: Annotated[bool, about("Never empty.")] = False
    form: Annotated[Literal["", "email", "phone"], about("The form of a text.")] = ""
    names: Annotated[NamedOptions | None, about("The records that its values name.")] = None
    ours: Annotated[bool, about("Business Central does not declare the field.")] = False


class TableRule(msgspec.Struct, frozen=True):
    """The table that an entity set shows: its number, its caption, and its properties' rules.

    `periods` are pairs of dates, the first of which is not after the second. A record is not
    deleted while a property in `used_in` (a set and its property) has the value of its key.
    """

    number: int
    caption: str
    source: str
    fields: Mapping[str, FieldOptions]
    periods: tuple[tuple[str, str], ...] = ()
    used_in: tuple[tuple[str, str], ...] = ()


class Values(msgspec.Struct, frozen=True):
    """The tables by entity set, and other names of sets; none in the standard profile.

    `enums` are the members of enumerations, each with its caption, the empty value first. Without
    `relations`, a value may name a record that does not exist.
    """

    tables: Mapping[str, TableRule] = {}
    enums: Mapping[str, Members] = {}
    aliases: Mapping[str, str] = {}
    relations: bool = True


class ShownProperty(msgspec.Struct, frozen=True):
    """A further property of companies, with values that the service has in another form.

    `shows` is the property with the value, or `number` for that of the record's last change. If it
    is blank, the service does not know the value, and the property is empty.
    """

    type: Literal["text", "number", "id", "instant"]
    shows: str
    description: str


class ValueForms(msgspec.Struct, frozen=True):
    """The forms of enumerations, instants and entity tags.

    `enumerations`: captions, or encoded names; with `declared`, names of those that are the types
    of properties, and captions of others. `instants`: with milliseconds, or without the zeros at
    their end. Properties in `captioned`, such as `customersExt.blocked`, have captions in any
    case. `interface_extensions`: what the interface has of its own, such as the one price at the
    top level of its list, the key of filtered item attributes that narrows them, and texts in
    Base64, which are streams without it. `of_companies` are the properties of companies that are
    not declared. `namespace` is that of the entity types, and `container` the name of their
    container. `edit_terms`: `$metadata` also says by the terms `AllowEdit` and `AllowEditOnCreate`
    of this namespace which properties clients may set. `keeps_own`: a calculated value that was set
    by hand remains when its source changes.
    """

    enumerations: Literal["declared", "captions", "names"] = "declared"
    instants: Literal["milliseconds", "short"] = "milliseconds"
    captioned: frozenset[str] = frozenset()
    tags: Literal["plain", "base64"] = "plain"
    interface_extensions: bool = True
    of_companies: Mapping[str, ShownProperty] = {}
    namespace: str = NAMESPACE
    container: str = CONTAINER
    edit_terms: bool = False
    keeps_own: bool = False

    def renamed(self) -> Self:
        """The same forms, with enumerations by captions in place of names, or the reverse."""
        return replace(self, enumerations="captions" if self.enumerations == "names" else "names")


DECLARED = ValueForms()
"""Values as the model declares them."""

Treatment = Literal["evaluated", "refused", "ignored"]


class ResponseOverride(msgspec.Struct, frozen=True):
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


class Envelope(msgspec.Struct, frozen=True):
    """The form of errors, and what every response has.

    `places`: an error has `target` and `details`. `suffix` ends each message; its `{id}` is the
    request's id as a Guid. `headers` are those by which a response names its profile, and `ids`
    those with this Guid. `media` is the `Content-Type` of errors, and `spaced`: in that of records,
    a space precedes each parameter. `translations` are messages in other languages.
    """

    places: bool = True
    suffix: str = ""
    headers: Mapping[str, str] = {}
    ids: tuple[str, ...] = ()
    media: str = "application/json"
    spaced: bool = False
    translations: Mapping[str, Mapping[str, str]] = {}


class WriteRules(msgspec.Struct, frozen=True):
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

    tags: Mapping[str, Literal["required", "optional", "ignored"]] = msgspec.field(
        default_factory=lambda: dict.fromkeys(("POST", "PATCH", "PUT", "DELETE"), "required")
    )
    body_tag: bool = True
    if_none_match: bool = True
    put_replaces: bool = True
    short_by: Literal["return=minimal", "return-no-content"] = "return=minimal"
    tag_of_created: bool = True
    related: bool = False
    computed: Literal["ignored", "unchanged", "refused"] = "ignored"


class BatchRules(msgspec.Struct, frozen=True):
    """The rules of batches.

    `snapshot`: a batch with `Isolation: snapshot` is one transaction, and other requests may have
    this header; otherwise, it is refused. `json_stops`: a batch in JSON ends at the first error,
    without responses to the later requests, unless it prefers to continue. `ids`: each request in
    JSON must have one; otherwise, the response to a request without an id has the id null.
    `change_set` is the most requests of a change set, None for those of a batch. `merge`: a request
    with the method MERGE is refused by itself, and not the whole batch.
    """

    snapshot: bool = False
    json_stops: bool = False
    ids: bool = True
    change_set: int | None = None
    merge: bool = False


class FilterRules(msgspec.Struct, frozen=True, eq=False):
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

    alternatives: Treatment = "evaluated"
    lists: Treatment = "evaluated"
    nested_calls: Treatment = "evaluated"
    lambdas: Treatment = "evaluated"
    ignores_case: bool = False
    null_is_blank: bool = False
    lower_case: bool = False
    any_case_names: bool = False


ODATA = FilterRules()
"""Filters as in OData."""


class Queries(msgspec.Struct, frozen=True):
    """The rules of queries.

    `version` is the value of `$schemaversion` that selects `dialect`, which requests without it
    have too, and `others` are the dialects by other values. With a value in `renamed`, enumerations
    are written by captions in place of names, or by names in place of captions. An empty `version`:
    the option is not supported, and neither are the query options `unsupported`. `tracks_changes`:
    a client may ask for delta links. `next_link`: how the link to a next page says where that
    begins. `count_mark`: the text of a `$count` begins with a byte order mark.
    """

    dialect: FilterRules = ODATA
    version: str = ""
    others: Mapping[str, FilterRules] = {}
    renamed: frozenset[str] = frozenset()
    unsupported: frozenset[str] = frozenset()
    tracks_changes: bool = True
    next_link: Literal["sort values", "last record"] = "sort values"
    count_mark: bool = False

    @property
    def dialects(self) -> Mapping[str | None, FilterRules]:
        """The dialects by `$schemaversion`; the one without it by None."""
        same = [(each, self.dialect) for each in (None, self.version, *self.renamed)]
        return dict([*same, *self.others.items()])

    @property
    def versions(self) -> frozenset[str]:
        """The values of `$schemaversion`."""
        return frozenset({self.version, *self.renamed, *self.others} - {""})


class Routes(msgspec.Struct, frozen=True):
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

    environments: Mapping[str, str] = {}
    apis: Mapping[str, str] = {}
    joins_slashes: str = ""
    basic: bool = False
    sets_at_root: bool = False
    definitions: bool = False
    names: Mapping[str, tuple[str, ...]] = {}


class Hooks(msgspec.Struct, frozen=True):
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


class Tokens(msgspec.Struct, frozen=True):
    """The responses of the token endpoint.

    `seconds` is how long a token is valid. `numbered`: the description of an error begins with the
    error's number, as in `AADSTS70011`.
    """

    seconds: int = 3_600
    numbered: bool = False


class Profile(msgspec.Struct, frozen=True):
    """A profile.

    The override of a refusal is that of its group in `errors`, or else that of its error's code
    in `codes`; without either, the response is that of the error. `settings` are other defaults of
    settings. `shows_limits`: responses have the client's limits in `RateLimit`.
    `tables`: the rules of the tables that the entity sets show are ignored or obeyed, with or
    without the relations. `sliding_rates`: rates are counted in a sliding window, and else replaced
    evenly. Without `hooks` there are no subscriptions.
    """

    settings: Mapping[str, str | int | float] = {}
    envelope: Envelope = Envelope()
    errors: Mapping[str, ResponseOverride] = {}
    codes: Mapping[str, ResponseOverride] = {}
    shows_limits: bool = True
    sliding_rates: bool = False
    tokens: Tokens = Tokens()
    writes: WriteRules = WriteRules()
    tables: Literal["ignored", "obeyed", "without relations"] = "ignored"
    forms: ValueForms = DECLARED
    queries: Queries = Queries()
    batches: BatchRules = BatchRules()
    routes: Routes = Routes()
    hooks: Hooks | None = None

    def obeyed(self, tables: Values) -> Values:
        """The rules of tables that the profile obeys."""
        if self.tables == "ignored":
            return Values()
        return replace(tables, relations=self.tables == "obeyed")

    def without_interface_extensions(self) -> Self:
        """The same profile, without the interface's shapes that the other product lacks."""
        forms = replace(self.forms, captioned=frozenset(), interface_extensions=False)
        return replace(self, writes=replace(self.writes, computed="refused"), forms=forms)


STANDARD = Profile()
"""The profile `standard`: the interface, and OData where the interface says nothing."""
