"""The profile `business-central`: what Business Central does, where that is known.

`tests/profiles/rows.toml` has the source of each difference from `standard`.
"""

from collections.abc import Mapping
from functools import cache

from msgspec.structs import replace

from comptoir.config import Settings, items
from comptoir.features.business_central import CURRENT, BusinessCentralSettings
from comptoir.features.business_central.errors import CODES, ERRORS, TRANSLATIONS
from comptoir.profiles.record import (
    BatchRules,
    Envelope,
    FilterRules,
    Hooks,
    Profile,
    Queries,
    Routes,
    ShownProperty,
    Tokens,
    ValueForms,
    WriteRules,
)

ROUTES = Routes(
    environments={
        "/v2.0/{tenant}/{environment}": "",
        "/v2.0/{environment}": "",
        "/{instance}": 'Basic realm="Business Central", charset="UTF-8"',
    },
    apis={
        "/api/{publisher}/{group}/{version}": "UNKNOWN_ADDRESS",
        "/api/{publisher}/{group}/beta": "UNKNOWN_ADDRESS",
        "/api/v2.0": "UNKNOWN_SEGMENT",
        "/api/beta": "UNKNOWN_SEGMENT",
        "/ODataV4": "UNKNOWN_SERVICE",
    },
    joins_slashes="/ODataV4",
    basic=True,
    sets_at_root=True,
    definitions=True,
)
"""The addresses of the API, online and on a server of one's own."""

_WITHOUT_LISTS = FilterRules(alternatives="refused", lists="refused", nested_calls="refused",
    lambdas="ignored", ignores_case=True, null_is_blank=True, lower_case=True, any_case_names=True,
)  # fmt: skip
_WITH_LISTS = replace(_WITHOUT_LISTS, lists="evaluated", nested_calls="evaluated")
_IGNORING_LISTS = replace(_WITHOUT_LISTS, lists="ignored", nested_calls="ignored")


def queries_of(version: int) -> Queries:
    """The rules of queries in a version of Business Central."""
    is_former = version < 24
    unsupported = {"$apply", "$compute", "$search"} | (set() if is_former else {"$deltatoken"})
    return Queries(
        dialect=_WITHOUT_LISTS if version > 22 else _IGNORING_LISTS,
        version="1.0" if is_former else "2.0",
        others={"2.1": _WITH_LISTS},
        # enumerations have captions with 1.0, and names with the later ones
        renamed=frozenset({"2.0", "2.1"} if is_former else {"1.0"}),
        unsupported=frozenset(unsupported),
        tracks_changes=is_former,
        next_link="last record",
        count_mark=True,
    )


_EMPTY = "Always empty."

OF_COMPANIES: Mapping[str, ShownProperty] = {
    "systemVersion": ShownProperty("text", "number", "The number of the last change, as text."),
    "timestamp": ShownProperty("number", "number", "The number of the last change."),
    "businessProfileId": ShownProperty("text", "", _EMPTY),
    "systemCreatedAt": ShownProperty("instant", "", _EMPTY),
    "systemCreatedBy": ShownProperty("id", "", _EMPTY),
    "systemModifiedAt": ShownProperty(
        "instant", "lastModifiedDateTime", "The time of the last change."
    ),
    "systemModifiedBy": ShownProperty("id", "", _EMPTY),
}
"""The properties of companies that the interface lacks."""

_NAMED = 24
"""The version from which on enumerations are written by their names."""

# fmt: off
_UNDATED = Profile(
    settings={
        "page_size": 20_000,
        # the other product accepts 350 MB, which would be kept in memory here
        "body_bytes": 64 << 20,
        "batch_bytes": 64 << 20,
        "query_bytes": 8_099,
        "client_rate": "6000/300s",
        "running_requests": 5,
        "scan_seconds": 480.0,
    },
    envelope=Envelope(places=False, suffix="  CorrelationId:  {id}.", headers={},
        ids=("request-id", "ms-correlation-x", "x-ms-correlation-request-id"),
        media="application/json; odata.metadata=minimal", spaced=True, translations=TRANSLATIONS),
    errors=ERRORS,
    codes=CODES,
    shows_limits=False,
    sliding_rates=True,
    tokens=Tokens(seconds=3_599, numbered=True),
    writes=WriteRules(
        tags={"POST": "ignored", "PATCH": "required", "PUT": "required", "DELETE": "optional"},
        body_tag=False, if_none_match=False, put_replaces=False, short_by="return-no-content",
        tag_of_created=False, related=True, computed="unchanged"),
    tables="obeyed",
    forms=ValueForms(
        enumerations="names",
        instants="short",
        # the interface shows a single blank
        captioned=frozenset({"customersExt.blocked"}),
        tags="base64",
        interface_extensions=True,
        of_companies=OF_COMPANIES,
        namespace="Microsoft.NAV",
        container="NAV",
        edit_terms=True,
        keeps_own=True,
    ),
    queries=queries_of(CURRENT),
    batches=BatchRules(snapshot=True, json_stops=True, ids=False, change_set=1, merge=True),
    routes=ROUTES,
    hooks=Hooks(handshake=5.0, lifetime=3 * 86_400.0, most=200, most_of_client=100, delay=30.0,
        over=1_000, retries=(60.0, 60.0, 600.0, 6_000.0, 60_000.0),
        retried=frozenset([408, 429, *range(500, 600)])),
)
# fmt: on


@cache
def business_central(version: int) -> Profile:
    """The profile of a version; always the same object, because dialects are."""
    headers = {"Comptoir-Profile": f"business-central/{version}"}
    return replace(
        _UNDATED,
        envelope=replace(_UNDATED.envelope, headers=headers),
        queries=queries_of(version),
        forms=replace(_UNDATED.forms, enumerations="names" if version >= _NAMED else "captions"),
    )


def profile_of(settings: Settings) -> Profile:
    """The profile with what the settings choose."""
    own = settings.of(BusinessCentralSettings)
    profile = business_central(own.bc_version)
    names = {
        "environment": items(own.environments),
        "instance": (own.instance,),
        "publisher": (own.api_publisher,),
        "group": (own.api_group,),
        "version": (own.api_version,),
    }
    profile = replace(profile, routes=replace(profile.routes, names=names))
    if own.relations == "off":
        profile = replace(profile, tables="without relations")
    if own.interface_extensions == "off":
        profile = profile.without_interface_extensions()
    return profile
