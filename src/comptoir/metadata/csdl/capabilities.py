"""What can be done with the sets and with the interface, in the terms of the OASIS vocabularies.

Capabilities, Aggregation, Authorization and Repeatability, each of `Org.OData.….V1`.
"""

from collections.abc import Iterable, Mapping

from comptoir.edm.model import EntitySet, NavigationProperty
from comptoir.metadata.abilities import Abilities
from comptoir.metadata.csdl.description import (
    Annotation,
    Annotations,
    Member,
    PropertyPath,
    Record,
    Value,
)
from comptoir.metadata.traits import filter_pairs, is_unlimited, queried, secrets, tracks_changes

_SCHEME = "bearer"
_FORMATS = (
    "application/json;odata.metadata=minimal",
    "application/json;odata.metadata=full",
    "application/json;odata.metadata=none",
    "application/json;odata.metadata=minimal;IEEE754Compatible=true",
)


_NO_INSERTING = (Annotation("Capabilities.InsertRestrictions", Record({"Insertable": False})),)
_NO_WRITING = (
    *_NO_INSERTING,
    Annotation("Capabilities.UpdateRestrictions", Record({"Updatable": False})),
    Annotation("Capabilities.DeleteRestrictions", Record({"Deletable": False})),
)


def described(text: str) -> Annotations:
    """A line of documentation; none when there is no text."""
    return (Annotation("Core.Description", text),) if text else ()


def of_set(entity_set: EntitySet, abilities: Abilities) -> Annotations:
    """What clients can do with a set where it is reached."""
    found: list[Annotation] = []
    if entity_set.read_only:
        found.append(Annotation("Core.Permissions", Member("Core.Permission", "Read")))
    found += [
        _capability("ReadRestrictions", {"Readable": True, **_permissions(abilities.read_scope)}),
        *_writing(entity_set, abilities),
        *_querying(entity_set, abilities),
    ]
    return tuple(found)


def of_addressed_set(entity_set: EntitySet, abilities: Abilities) -> Annotations:
    """What clients can do with a set at the top of its service, in terms for sets alone too."""
    if entity_set.read_only:
        return of_set(entity_set, abilities)
    # the collection names the properties that a tag is made of: none, the service does not tell
    tags = Annotation("Core.OptimisticConcurrency", ())
    return (tags, *of_set(entity_set, abilities))


def of_set_elsewhere(where: str) -> Annotations:
    """Of a set that others refer to, but that stands at another address: nothing can be done."""
    unreachable = Member("Capabilities.NavigationType", "None")
    return (
        *described(where),
        _capability("ReadRestrictions", {"Readable": False}),
        _capability("NavigationRestrictions", {"Navigability": unreachable}),
        *_NO_WRITING,
    )


def of_relation(held: NavigationProperty) -> Annotations:
    """What clients can not do along a relation: make records, which is done in their set."""
    return _NO_INSERTING if held.collection else ()


def of_container(abilities: Abilities) -> Annotations:
    """What the interface as a whole offers."""
    batch: Mapping[str, Value] = {
        "Supported": True,
        "ContinueOnErrorSupported": True,
        "ReferencesInRequestBodiesSupported": False,
        "ReferencesAcrossChangeSetsSupported": True,
        "EtagReferencesSupported": True,
        "RequestDependencyConditionsSupported": True,
        "SupportedFormats": ("multipart/mixed", "application/json"),
    }
    token = Record(
        {
            "Name": _SCHEME,
            "Description": "A bearer token (RFC 6750).",
            "Scheme": "bearer",
            "BearerFormat": "JWT",
        },
        "Authorization.Http",
    )
    return (
        *described("Business records. Those of a company stand under companies({id})."),
        Annotation("Core.ODataVersions", "4.0"),
        Annotation("Authorization.Authorizations", (token,)),
        Annotation("Authorization.SecuritySchemes", (Record({"Authorization": _SCHEME}),)),
        Annotation(
            "Capabilities.ConformanceLevel",
            Member("Capabilities.ConformanceLevelType", "Intermediate"),
        ),
        Annotation("Capabilities.SupportedFormats", _FORMATS),
        Annotation(
            "Capabilities.SupportedMetadataFormats", ("application/xml", "application/json")
        ),
        Annotation("Capabilities.AcceptableEncodings", ()),
        Annotation("Capabilities.AsynchronousRequestsSupported", False),
        Annotation("Capabilities.CrossJoinSupported", False),
        Annotation("Capabilities.KeyAsSegmentSupported", False),
        Annotation("Capabilities.QuerySegmentSupported", False),
        Annotation("Capabilities.AnnotationValuesInQuerySupported", False),
        Annotation("Capabilities.BatchSupported", True),
        _capability("BatchSupport", batch),
        Annotation("Capabilities.FilterFunctions", abilities.filter_functions),
        _capability("DeepInsertSupport", {"Supported": False}),
        _capability("DeepUpdateSupport", {"Supported": False}),
        Annotation("Repeatability.Supported", True),
    )


def _capability(term: str, values: Mapping[str, Value]) -> Annotation:
    return Annotation(f"Capabilities.{term}", Record(values))


def _permissions(scope: str) -> Mapping[str, Value]:
    scopes = (Record({"Scope": scope}),)
    return {"Permissions": (Record({"SchemeName": _SCHEME, "Scopes": scopes}),)}


def _paths(names: Iterable[str]) -> tuple[PropertyPath, ...]:
    return tuple(PropertyPath(name) for name in names)


def _writing(entity_set: EntitySet, abilities: Abilities) -> Annotations:
    kind = entity_set.type
    if entity_set.read_only:
        return _NO_WRITING
    permissions = _permissions(abilities.write_scope)
    insert: dict[str, Value] = {"Insertable": True}
    required = _paths(each.name for each in kind.properties if each.required)
    if required:
        insert["RequiredProperties"] = required
    # without UpdateMethod, PATCH is supported and PUT may be; both are
    update: dict[str, Value] = {"Updatable": True, "Upsertable": False}
    fixed = _paths(each.name for each in kind.properties if each.kept_on_create)
    if fixed:
        update["NonUpdatableProperties"] = fixed
    return (
        _capability("InsertRestrictions", {**insert, **permissions}),
        _capability("UpdateRestrictions", {**update, **permissions}),
        _capability("DeleteRestrictions", {"Deletable": True, **permissions}),
    )


def _querying(entity_set: EntitySet, abilities: Abilities) -> Annotations:
    kind, pairs = entity_set.type, filter_pairs(entity_set)
    hidden = secrets(kind)
    filtering: dict[str, Value] = {"Filterable": True, "RequiresFilter": False}
    if not entity_set.per_company:
        # what companies contain is asked company by company, never across them
        filtering["MaxLevels"] = 0
    if hidden:
        filtering["NonFilterableProperties"] = _paths(hidden)
    if pairs:
        filtering["FilterExpressionRestrictions"] = tuple(
            Record({"Property": PropertyPath(name), "AllowedExpressions": "SingleValue"})
            for name in pairs
        )
    sorting: dict[str, Value] = {"Sortable": True}
    if hidden or pairs:
        sorting["NonSortableProperties"] = _paths((*hidden, *pairs))
    expandable = bool(kind.navigation) or not entity_set.per_company
    expanding: dict[str, Value] = {"Expandable": expandable}
    if expandable:
        expanding["MaxLevels"] = abilities.expand_levels
    tracking: dict[str, Value] = {"Supported": tracks_changes(entity_set)}
    if tracking["Supported"]:
        tracking["FilterableProperties"] = _paths(queried(kind))
    return (
        _capability("FilterRestrictions", filtering),
        _capability("SortRestrictions", sorting),
        _capability("ExpandRestrictions", expanding),
        _capability("SearchRestrictions", {"Searchable": True}),
        _capability("CountRestrictions", {"Countable": True}),
        _capability("SelectSupport", {"Supported": True}),
        Annotation("Capabilities.TopSupported", True),
        Annotation("Capabilities.SkipSupported", True),
        Annotation("Capabilities.ComputeSupported", True),
        Annotation("Capabilities.IndexableByKey", True),
        _capability("ChangeTracking", tracking),
        Annotation("Aggregation.ApplySupported", Record(_aggregating(entity_set, abilities))),
    )


def _aggregating(entity_set: EntitySet, abilities: Abilities) -> Mapping[str, Value]:
    kind = entity_set.type
    asked = [kind.by_name[name] for name in queried(kind)]
    groupable = [each.name for each in asked if not is_unlimited(each)]
    return {
        "Transformations": abilities.transformations,
        "Rollup": Member("Aggregation.RollupType", "None"),
        "From": False,
        "GroupableProperties": _paths(groupable),
        "AggregatableProperties": tuple(
            Record(
                {
                    "Property": PropertyPath(each.name),
                    "SupportedAggregationMethods": abilities.methods_of(each.type),
                }
            )
            for each in asked
        ),
    }
