"""The rows of `docs/reference/profiles.md`: why `business-central` differs from `standard`."""

from comptoir.profiles.business_central.companies import OF_COMPANIES
from comptoir.profiles.business_central.errors import CODES
from comptoir.profiles.row import Row
from comptoir.profiles.value_rows import VALUE_ROWS

ROWS = (
    Row(
        "P1",
        "Any response: it names the profile in `Comptoir-Profile`.",
        "The service's own header, so that a client's log shows what it met",
        "ours",
        ("envelope.headers.Comptoir-Profile",),
    ),
    Row(
        "P2",
        "What the interface has and Business Central lacks: the one price at the top level of a "
        "list, a key that narrows filtered item attributes, and what V3, W2 and W5 say. The "
        "interface wins, unless `seed_shapes = off`.",
        "The interface's document",
        "ours",
        (),
    ),
    Row(
        "E1",
        "Any error: `code` and `message` alone, and the message ends with the request's id.",
        "amp-labs/connectors, davidmoten/odata-client#103, microsoft/nav-docker#570",
        "recorded",
        ("envelope.places", "envelope.suffix"),
    ),
    Row(
        "E2",
        "The headers of any response: `request-id`, `ms-correlation-x` and "
        "`x-ms-correlation-request-id` have the id of `CorrelationId`. The `Content-Type` of "
        "errors and batches has the metadata level, and that of records a space before it.",
        "The documentation, use-odata-batch; recorded in public clients' tests",
        "documented",
        ("envelope.ids", "envelope.media", "envelope.spaced"),
    ),
    Row(
        "E3",
        "An error for a client that prefers Dutch: the message is translated, the code is not. The "
        "other messages, and other languages, are in English here.",
        "Recorded in a public client's tests",
        "recorded",
        ("envelope.translations.nl.UNSUPPORTED_FILTER",),
    ),
    Row(
        "E4",
        "An error of the gateway: XML, whatever `Accept` says.",
        "amp-labs/connectors",
        "recorded",
        (),
    ),
    Row(
        "T1",
        "An update without `If-Match`. An ETag in the body does not count. `If-Match` with "
        "something else than ETags gets the same response, which is assumed.",
        "davidmoten/odata-client#103, MicrosoftDocs/dynamics365smb-devitpro-pb#813, "
        "Softeria/ms-365-mcp-server#138",
        "recorded",
        ("errors.NO_TAG", "errors.MALFORMED_TAG", "writes.body_tag"),
    ),
    Row(
        "T2",
        "An update or a delete with the ETag of an earlier version.",
        "The documentation's error codes; pybc365 0.3.0 on version 22.2",
        "documented",
        ("errors.STALE_TAG",),
    ),
    Row(
        "T3",
        "An update or a delete with `If-Match: *`: any version.",
        "The documentation of OData web services, use-odata-to-modify-data",
        "documented",
        (),
    ),
    Row(
        "T4",
        "A delete without `If-Match`.",
        "pybc365 0.3.0, amp-labs/connectors",
        "reported",
        ("writes.tags.DELETE",),
    ),
    Row(
        "T5",
        "A create. `If-Match` and `If-None-Match` do not count, also not where the interface lists "
        "`If-Match` (operation 6), and the response has no `ETag`.",
        "konfpa/konnect#7; `If-None-Match` is assumed to be the same",
        "reported",
        ("writes.tags.POST", "writes.tag_of_created"),
    ),
    Row(
        "T6",
        "An update never creates a record, whatever `If-None-Match` says, and PUT keeps what its "
        "body omits.",
        "konfpa/konnect#7; that `If-None-Match` does not count is assumed",
        "reported",
        ("writes.if_none_match", "writes.put_replaces"),
    ),
    Row(
        "T7",
        "A write that prefers a response without the record. Only `return-no-content` does, and "
        "`Preference-Applied` is not sent.",
        "MicrosoftDocs/dynamics365smb-devitpro-pb#3229; recorded in a public client's tests",
        "reported",
        ("writes.short_by",),
    ),
    Row(
        "T8",
        "A method that a collection does not have, such as PATCH.",
        "The text: hougaard/Simple-Object-Designer#100; the status is assumed",
        "recorded",
        ("errors.METHOD_ON_SET",),
    ),
    Row(
        "T9",
        "The method MERGE on a record, also in a batch, whose other requests are executed.",
        "The text and the code: MicrosoftDocs/dynamics365smb-devitpro-pb#812; the status is "
        "assumed",
        "recorded",
        ("errors.MERGE", "batches.merge"),
    ),
    Row(
        "T10",
        "A write to a table that another session is updating. Here, a write waits for "
        "`lock_seconds` before.",
        "The status and the beginning of the text: recorded in a public client's tests",
        "recorded",
        ("errors.LOCKED",),
    ),
    Row(
        "T11",
        "A write with `Data-Access-Intent: ReadOnly`. Business Central refuses it too, in unknown "
        "words.",
        "The documentation, devenv-connect-apps-tips; the response is our choice",
        "ours",
        (),
    ),
    Row(
        "T12",
        "A create with related records in its body, on one level: all are created or none, and the "
        "response has the first. At most 1,000 of them are our choice. An update with related "
        "records is refused, in words of our own.",
        "The documentation, dynamics-rate-limits and the known limitations of OData",
        "documented",
        ("writes.related",),
    ),
    *VALUE_ROWS,
    Row(
        "N1",
        "A path to a record that does not exist.",
        "konfpa/pybc365#12 on version 22.2, by ODataV4; assumed to be the same for API pages",
        "recorded",
        ("errors.NO_RECORD",),
    ),
    Row(
        "N2",
        "A path that names nothing, at the address of a custom API or of one that does not exist.",
        "microsoft/AL#8283, MicrosoftDocs/dynamics365smb-devitpro-pb#1968, for entity sets",
        "recorded",
        ("errors.UNKNOWN_ADDRESS",),
    ),
    Row(
        "N2b",
        "A path that names nothing, at `base_path` and at the addresses `api/v2.0` and `api/beta`.",
        "amp-labs/connectors",
        "recorded",
        ("errors.UNKNOWN_SEGMENT",),
    ),
    Row(
        "N2c",
        "A path that names nothing, at the addresses `ODataV4`: a response without a body.",
        "pybc365 0.3.0",
        "reported",
        ("errors.UNKNOWN_SERVICE",),
    ),
    Row(
        "N3",
        "A path that continues after a collection, as with a key between slashes.",
        "davidmoten/odata-client#103",
        "recorded",
        ("errors.KEY_AS_SEGMENT",),
    ),
    Row(
        "N4",
        "A path with a malformed key.",
        "Recorded in a public client's tests",
        "recorded",
        ("errors.MALFORMED_KEY",),
    ),
    Row(
        "N5",
        "A path to an entity set of companies that names no company. The service has no default "
        "company. A company that is unknown, or that the client must not see, has the same code "
        "with our text.",
        "The documentation's error codes",
        "documented",
        ("errors.NO_COMPANY",),
    ),
    Row(
        "N6",
        "A path below an environment or a tenant that the settings do not name: XML from the "
        "gateway, to every client.",
        "amp-labs/connectors, for environments; assumed to be the same for tenants",
        "recorded",
        ("errors.UNKNOWN_ENVIRONMENT",),
    ),
    Row(
        "N7",
        "A URL whose query is longer than 8,099 characters, encoded. The body is our choice.",
        "KralGmbh/Dynamics365-BusinessCentral, for the online service",
        "recorded",
        ("settings.query_bytes",),
    ),
    Row(
        "N8",
        "The addresses of the API besides `base_path`: each environment, followed by each API. All "
        "have the same records. Names in addresses have no case, and links have those of the "
        "settings. At all addresses, a company may be named by `companies(ID)`, "
        "`companies(name='NAME')`, `Company('NAME')`, the option `company`, or the headers "
        "`Company` and `CompanyId`, in this order of precedence; the links name it in the same "
        "form, and instead of a header by the option. If several companies have a name, the one "
        "with the lowest id has precedence (ours); only an earlier release created such companies.",
        "The documentation of API pages; every client that was read",
        "documented",
        (
            "routes.environments./v2.0/{tenant}/{environment}",
            "routes.environments./v2.0/{environment}",
            "routes.apis./api/{publisher}/{group}/{version}",
            "routes.apis./api/{publisher}/{group}/beta",
            "routes.apis./api/v2.0",
            "routes.apis./api/beta",
            "routes.apis./ODataV4",
        ),
    ),
    Row(
        "N9",
        "A path to an action of a record. No entity type has actions.",
        "The text and the code: the documentation's error codes; the status is assumed",
        "documented",
        ("errors.BOUND_ACTION",),
    ),
    Row(
        "N10",
        "A company: it also has `systemVersion` and `timestamp`, here the number of the record's "
        "last change, and `systemModifiedAt`, the same as the interface's `lastModifiedDateTime`. "
        "`businessProfileId`, `systemCreatedAt`, `systemCreatedBy` and `systemModifiedBy` are "
        "always empty here, because the service does not know their values.",
        "The documentation of the API 2.0, company; the values are assumed",
        "documented",
        tuple(f"forms.of_companies.{each}" for each in OF_COMPANIES),
    ),
    Row(
        "N11",
        "`entityDefinitions` of a service root: the captions of entity types, sets and properties. "
        "A filter may name one type, `entityName eq 'contact'`. All captions are English here, a "
        "set has that of its type, and what Business Central lacks has its name.",
        "amp-labs/connectors",
        "recorded",
        ("routes.definitions",),
    ),
    Row(
        "N12",
        "The service document and `$metadata` of a service root: they have the entity sets of "
        "companies, each with what it allows.",
        "odyn 0.5.1 and pybc365 0.3.0, which read both",
        "reported",
        ("routes.sets_at_root",),
    ),
    Row(
        "N13",
        "Microsoft's own names of entity sets, in paths: they lead to our sets. The links to "
        "further pages and the messages keep the name; other links, and `$metadata`, have ours.",
        "The documentation of the API 2.0; two public clients have these names alone",
        "documented",
        (
            "values.aliases.contacts",
            "values.aliases.customers",
            "values.aliases.items",
            "values.aliases.unitsOfMeasure",
        ),
    ),
    Row(
        "N14",
        "Several slashes in a row in a path at the addresses `ODataV4`: they are read as one.",
        "darbiadev-businesscentral 0.5.0, which sends `Company('NAME')//`",
        "reported",
        ("routes.joins_slashes",),
    ),
    Row(
        "W4",
        "The links in a response: they begin with the address and the own host that the client "
        "used. The context URL has the same form in both profiles.",
        "amp-labs/connectors",
        "recorded",
        (),
    ),
    Row(
        "A1",
        "A request without a token that the service accepts.",
        "microsoft/nav-docker#570",
        "recorded",
        ("errors.BAD_CREDENTIALS",),
    ),
    Row(
        "A2",
        "The challenge to a request without valid credentials: Basic at the addresses of a server "
        "of one's own. Online, it is not known; ours is that for bearer tokens.",
        "konfpa/pybc365#12 on version 22.2",
        "recorded",
        ("routes.environments./{instance}",),
    ),
    Row(
        "A3",
        "A token that the gateway refuses: XML, or JSON if `Accept` names it. Only the fault "
        "`token-expired; by=gateway` shows it.",
        "keytogoodcode.com",
        "reported",
        ("errors.REFUSED_BY_GATEWAY",),
    ),
    Row(
        "A4",
        "A request that needs a right which the client's roles do not have. A scope that the token "
        "does not have is refused as in the other profile.",
        "Recorded in a public client's tests; the code: hougaard/Simple-Object-Designer#149",
        "recorded",
        ("errors.RIGHT_MISSING",),
    ),
    Row(
        "A5",
        "The token endpoint: `expires_in`, and the number of an error in its description.",
        "MicrosoftDocs/entra-docs, for the error `invalid_scope`; assumed for the others",
        "documented",
        ("tokens.seconds", "tokens.numbered"),
    ),
    Row(
        "A6",
        "The id or the name and a secret of a client by HTTP Basic, in place of a token, over "
        "HTTPS or from the same machine, at the addresses of environments and of the instance: the "
        "request has the client's scopes, roles, companies and limits. In Business Central, they "
        "are the name and the web service access key of a user, and only where it runs on a server "
        "of one's own.",
        "The documentation of web service access keys; several public clients",
        "documented",
        ("routes.basic",),
    ),
    Row(
        "Q1",
        "`$filter` with `or` between conditions on different properties.",
        "Recorded in public clients' tests",
        "recorded",
        (
            "errors.ALTERNATIVES",
            "queries.dialect.alternatives",
            "queries.others.2.1.alternatives",
        ),
    ),
    Row(
        "Q2",
        "`$filter` with `in`, or with a function of a function's result. With "
        "`$schemaversion=2.1` both are evaluated. If `bc_version` is 22 or less, a filter with "
        "them is ignored.",
        "KralGmbh/Dynamics365-BusinessCentral",
        "recorded",
        (
            "errors.UNSUPPORTED_FILTER",
            "queries.dialect.lists",
            "queries.dialect.nested_calls",
            "queries.version",
            "queries.others.2.1.lists",
            "queries.others.2.1.nested_calls",
        ),
    ),
    Row(
        "Q3",
        "`$filter` with `any` or `all`: the filter is ignored.",
        "The documentation's known limitations of OData",
        "documented",
        ("queries.dialect.lambdas", "queries.others.2.1.lambdas"),
    ),
    Row(
        "Q4",
        "An expression with a property that the entity type does not have.",
        "amp-labs/connectors, for `$filter`; assumed to be the same for other options",
        "recorded",
        ("errors.UNKNOWN_FIELD",),
    ),
    Row(
        "Q5",
        "`$select` with a property that the entity type does not have. The case of names does not "
        "matter.",
        "KralGmbh/Dynamics365-BusinessCentral",
        "recorded",
        (
            "errors.UNKNOWN_SELECTED",
            "queries.dialect.any_case_names",
            "queries.others.2.1.any_case_names",
        ),
    ),
    Row(
        "Q6",
        "A malformed query option. A position is that of a missing value, or after the first part "
        "that does not belong there. `DESC` in capitals is such a part.",
        "pybc365 0.3.0, for a missing value and for `DESC`; otherwise assumed from the messages of "
        "Microsoft's OData library",
        "reported",
        (
            "errors.NO_EXPRESSION",
            "errors.SYNTAX",
            "queries.dialect.lower_case",
            "queries.others.2.1.lower_case",
        ),
    ),
    Row(
        "Q7",
        "Equality of texts in an expression ignores case, and null equals the blank value of a "
        "property. Names and values of item attributes in operation 9 are compared as in "
        "`standard`, because the interface defines them.",
        "Several public clients",
        "reported",
        (
            "queries.dialect.ignores_case",
            "queries.dialect.null_is_blank",
            "queries.others.2.1.ignores_case",
            "queries.others.2.1.null_is_blank",
        ),
    ),
    Row(
        "Q8",
        "A page of a list without `odata.maxpagesize`, unless the setting `page_size` is given. "
        "With `odata.maxpagesize`, a page has exactly as many records.",
        "The documentation, Server-Driven Paging; recorded in a public client's tests",
        "documented",
        ("settings.page_size",),
    ),
    Row(
        "Q9",
        "The link to the next page has `aid=FIN`, the id of the last record as `$skiptoken`, and "
        "as `$top` the number of records that are left. With `$orderby`, a digest of the record's "
        "sort values follows the id; that is ours.",
        "amp-labs/connectors, without `$orderby`",
        "recorded",
        ("queries.next_link",),
    ),
    Row(
        "Q10",
        "A link to a next page whose record was deleted, or has other sort values than before. "
        "The message is ours.",
        "A public client's error codes",
        "reported",
        ("errors.LINK_GONE",),
    ),
    Row(
        "Q11",
        "`/$count`: the number follows a byte order mark.",
        "dynite 0.2.0, ms-dynamics-business-central-sdk 1.7.0",
        "reported",
        ("queries.count_mark",),
    ),
    Row(
        "Q12",
        "`$search`, `$apply` and `$compute` are not supported, and neither are delta links: "
        "`Prefer: odata.track-changes` is ignored. If `bc_version` is less than 24, delta links "
        "are.",
        "The documentation's deprecated features, for delta links; assumed for the others",
        "documented",
        ("queries.unsupported", "queries.tracks_changes"),
    ),
    Row(
        "W1",
        "The tag of a record: two numbers in Base64. Tags in the form of `standard` are accepted.",
        "amp-labs/connectors; the examples of the documentation",
        "recorded",
        ("forms.tags",),
    ),
    Row(
        "W2",
        "A value of an enumeration: its name, in which other characters than letters, digits and "
        "`_` are encoded, such as `Bar_x0020_Code`. The interface says that `blocked` of a "
        "customer may be a single blank, so it has captions. With "
        "`$schemaversion=1.0`, which is the default up to version 23, all have captions.",
        "amp-labs/connectors; the documentation of deprecated features",
        "recorded",
        ("forms.enumerations", "forms.captioned", "queries.renamed"),
    ),
    Row(
        "W3",
        "A time: without zeros at the end of its seconds, such as `12:30:00.5Z`. The interface "
        "says that times have fractional seconds; those that are zero are left out.",
        "amp-labs/connectors",
        "recorded",
        ("forms.instants",),
    ),
    Row(
        "W5",
        "A long text. The interface has it in its record, in Base64. With `seed_shapes = off` it "
        "is a stream: the record has its address as `@odata.mediaEditLink` and "
        "`@odata.mediaReadLink`, where GET returns the bytes and PATCH replaces them, with "
        "`If-Match` (T1) and whatever the `Content-Type`, also if the record is read-only. GET of "
        "an empty one returns 204, `$value` does not exist, and query options other than `$select` "
        "refuse it; these three are ours.",
        "The documentation of the API, picture",
        "documented",
        (),
    ),
    Row(
        "W6",
        "The namespace of the entity types and the name of their container: in `$metadata`, in "
        "`@odata.type`, in casts, and in messages. At the addresses `ODataV4`, Business Central "
        "has the namespace `NAV`; here, all addresses have the same.",
        "The documentation's error codes; recorded in public clients' tests",
        "recorded",
        ("forms.namespace", "forms.container"),
    ),
    Row(
        "W7",
        "`$metadata` says what clients may set: `InsertRestrictions` and `UpdateRestrictions` list "
        "the properties that V3 refuses, and the terms `AllowEdit` and `AllowEditOnCreate` have "
        "values where an update must not set a property. Business Central has these two at the "
        "addresses `ODataV4` alone. `DeepInsertSupport` follows T12.",
        "pybc365 0.3.0, which reads them; which properties have them is our choice",
        "reported",
        ("forms.edit_terms",),
    ),
    Row(
        "B1",
        "A batch in JSON of which one request fails: the later ones have no responses, unless the "
        "batch has `Prefer: odata.continue-on-error`.",
        "The documentation, use-odata-batch; dynamicsuser.net",
        "documented",
        ("batches.json_stops",),
    ),
    Row(
        "B2",
        "A batch with more requests than `batch_requests`.",
        "demiliani.com; recorded in a public client's tests",
        "recorded",
        ("errors.TOO_MANY_PARTS",),
    ),
    Row(
        "B3",
        "A batch with `Isolation: snapshot` of which one request fails: nothing is stored, and the "
        "responses to the requests before it still say what they did. Reads return what was stored "
        "before the batch, which is our choice.",
        "The documentation, use-odata-batch; recorded in a public client's tests",
        "documented",
        ("batches.snapshot",),
    ),
    Row(
        "B4",
        "A change set of two requests. The batch is refused, without an effect.",
        "The text and the status: microsoft/AL#5553 of 2019; the code is assumed",
        "reported",
        ("batches.change_set", "errors.LONG_CHANGE_SET"),
    ),
    Row(
        "B5",
        "A request without an id in a batch in JSON: its response has the id null. The company of "
        "the requests: by the URL of each, by the option `company` of the batch, or by the headers "
        "`Company` and `CompanyId` of the batch or of a request.",
        "The documentation, use-odata-batch; ms-dynamics-business-central-sdk 1.7.0",
        "documented",
        ("batches.ids",),
    ),
    Row(
        "S1",
        "A new subscription: its receiver shakes hands first, or nothing is stored.",
        "MicrosoftDocs/dynamics365smb-devitpro-pb, dynamics-subscriptions.md; the error is ours",
        "documented",
        ("hooks.handshake",),
    ),
    Row(
        "S2",
        "A subscription ends unless it is renewed, by an update with `If-Match` and a handshake.",
        "MicrosoftDocs/dynamics365smb-devitpro-pb, dynamics-subscriptions.md",
        "documented",
        ("hooks.lifetime",),
    ),
    Row(
        "S3",
        "Changes are sent some time after the first one, those for one URL in one request.",
        "MicrosoftDocs/dynamics365smb-devitpro-pb, dynamics-subscriptions.md; microsoft/BCApps",
        "documented",
        ("hooks.delay",),
    ),
    Row(
        "S4",
        "Many changes are one notification, of the collection.",
        "MicrosoftDocs/dynamics365smb-devitpro-pb, dynamics-subscriptions.md; microsoft/BCApps",
        "documented",
        ("hooks.over",),
    ),
    Row(
        "S5",
        "A receiver fails: it is tried again for some statuses; others end the subscription.",
        "microsoft/BCApps; MicrosoftDocs/dynamics365smb-devitpro-pb has the statuses",
        "documented",
        ("hooks.retries", "hooks.retried"),
    ),
    Row(
        "S6",
        "The most subscriptions of a service, half of them for one client; Business Central counts "
        "those of an environment.",
        "MicrosoftDocs/dynamics365smb-devitpro-pb; the error is ours",
        "documented",
        ("hooks.most", "hooks.most_of_client"),
    ),
    Row(
        "L1",
        "More than 6,000 requests of a client in any 5 minutes, unless it has a rate of its own. "
        "Here, requests are counted in slots of 10 seconds, so one may count up to 10 seconds "
        "longer. "
        "Whether the response has `Retry-After` is unknown; here, it has none.",
        "The documentation of the operational limits; the body: recorded in public clients' tests",
        "documented",
        ("settings.client_rate", "shows_limits", "sliding_rates", "errors.TOO_MANY_REQUESTS"),
    ),
    Row(
        "L2",
        "More than 5 requests of a client at once: the others wait for their turn, up to 95 of "
        "them for up to 8 minutes. Further ones are refused as by L1.",
        "The documentation of the operational limits",
        "documented",
        ("settings.running_requests",),
    ),
    Row(
        "L3",
        "A read that takes longer than 8 minutes, or a write that the database stops because of a "
        "time limit of its own. The documentation says 408, and on another page 504 after 10 "
        "minutes; the body is our choice.",
        "The documentation of the operational limits",
        "documented",
        ("settings.scan_seconds", "errors.LONG_WORK"),
    ),
    Row(
        "L4",
        "The largest body. Business Central accepts 350 MB; the limit here is smaller on purpose, "
        "since bodies are kept in memory, and a long body may have 100,000 values.",
        "The documentation of the operational limits",
        "ours",
        ("settings.body_bytes", "settings.batch_bytes"),
    ),
    Row(
        "L5",
        "The service cannot use its database, or stops.",
        "HodorNV/ALOps#329",
        "recorded",
        tuple(f"codes.{each}" for each in CODES),
    ),
    Row(
        "L6",
        "The window of an update: 503 with a page of the gateway in HTML, whatever `Accept` says. "
        "The fault `away; kind=html` sends it, under each profile.",
        "HodorNV/ALOps#650",
        "recorded",
        (),
    ),
)
