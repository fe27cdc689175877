"""The profile `standard`: the interface, and OData where the interface says nothing."""

from comptoir.profiles.record import (
    BatchRules,
    Envelope,
    FilterRules,
    Profile,
    Queries,
    Routes,
    Tokens,
    WriteRules,
)
from comptoir.profiles.values import CONTAINER, NAMESPACE, ValueForms, Values

ODATA = FilterRules(
    alternatives="evaluated",
    lists="evaluated",
    nested_calls="evaluated",
    lambdas="evaluated",
    ignores_case=False,
    null_is_blank=False,
    lower_case=False,
    any_case_names=False,
)
"""Filters as in OData."""

DECLARED = ValueForms(
    enumerations="captions",
    instants="milliseconds",
    captioned=frozenset(),
    tags="plain",
    interface_extensions=True,
    of_companies={},
    namespace=NAMESPACE,
    container=CONTAINER,
    edit_terms=False,
    keeps_own=False,
)
"""Values as the model declares them."""

STANDARD = Profile(
    settings={},
    envelope=Envelope(
        places=True,
        suffix="",
        headers={},
        ids=(),
        media="application/json",
        spaced=False,
        translations={},
    ),
    errors={},
    codes={},
    shows_limits=True,
    sliding_rates=False,
    tokens=Tokens(seconds=3_600, numbered=False),
    writes=WriteRules(
        tags={
            "POST": "required",
            "PATCH": "required",
            "PUT": "required",
            "DELETE": "required",
        },
        body_tag=True,
        if_none_match=True,
        put_replaces=True,
        short_by="return=minimal",
        tag_of_created=True,
        related=False,
        computed="ignored",
    ),
    values=Values(),
    forms=DECLARED,
    queries=Queries(
        dialect=ODATA,
        version="",
        others={},
        renamed=frozenset(),
        unsupported=frozenset(),
        tracks_changes=True,
        next_link="sort values",
        count_mark=False,
    ),
    batches=BatchRules(snapshot=False, json_stops=False, ids=True, change_set=None, merge=False),
    routes=Routes(
        environments={},
        apis={},
        joins_slashes="",
        basic=False,
        sets_at_root=False,
        definitions=False,
        names={},
    ),
    hooks=None,
)
