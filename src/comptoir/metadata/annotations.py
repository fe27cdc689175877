"""The annotations of `$metadata`, in the terms of the OASIS vocabularies `Org.OData.….V1`.

They announce the capabilities of each entity set and of the service.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from comptoir.edm.model import EntitySet, Model, NavigationProperty, Property
from comptoir.edm.types import PrimitiveType
from comptoir.profiles.record import Profile

_URL = "https://oasis-tcs.github.io/odata-vocabularies/vocabularies"


@dataclass(frozen=True, slots=True, eq=False)
class Capabilities:
    """Capabilities that `$metadata` and OpenAPI announce beyond the model: those of a profile, too.

    `filter_functions`: the canonical functions of `$filter`. `transformations`: those of `$apply`,
    and `methods_of` the aggregation methods of a type. `expand_levels`: the depth of `$expand`.
    `read_scope` and `write_scope`: the scopes that a token needs. `token_url`: where programs get
    one (RFC 6749, 4.4). Capabilities are compared by identity, since a cache has them in its keys.
    """

    behaviour: Profile
    filter_functions: tuple[str, ...]
    transformations: tuple[str, ...]
    methods_of: Callable[[PrimitiveType], tuple[str, ...]]
    expand_levels: int
    read_scope: str
    write_scope: str
    token_url: str

    @property
    def refuses_computed(self) -> bool:
        """Whether a body must not have what only the service sets."""
        return self.behaviour.writes.computed != "ignored"


_NAMES = ("Core", "Capabilities", "Authorization", "Aggregation", "Repeatability", "Validation")
VOCABULARIES: Mapping[str, str] = {name: f"Org.OData.{name}.V1" for name in _NAMES}
"""The namespaces of the vocabularies of OASIS, by their short names."""


def vocabularies(model: Model) -> Mapping[str, str]:
    """The vocabularies that the annotations of a model need."""
    has_bounds = any(each.type.bounds for of in model.sets for each in of.type.properties)
    return {name: each for name, each in VOCABULARIES.items() if has_bounds or name != "Validation"}


def vocabulary_url(namespace: str) -> str:
    """The address of a vocabulary, without `.xml` or `.json`."""
    return f"{_URL}/{namespace}"


def full_name(name: str) -> str:
    """The full name of a term: `Org.OData.Core.V1.Description` for `Core.Description`.

    Other terms have their full name already. Documents declare no aliases, because some clients do
    not support them, and CSDL JSON must use a declared alias throughout (OData CSDL JSON 4.01,
    section 4.2).
    """
    short, _, simple = name.partition(".")
    namespace = VOCABULARIES.get(short)
    return name if namespace is None else f"{namespace}.{simple}"


@dataclass(frozen=True, slots=True)
class PropertyPath:
    """A property as a value."""

    name: str


@dataclass(frozen=True, slots=True)
class AnnotatedMember:
    """A member of an enumeration type."""

    type: str
    name: str


Scalar = bool | int | Decimal | str | PropertyPath | AnnotatedMember
Value = Scalar | tuple["Value", ...] | Mapping[str, "Value"]
"""The value of an annotation (CSDL 4.01, section 14): one, a collection, or a record."""

Record = Mapping[str, Value]
"""Named values; `@type` is required where the term allows several types."""

Annotations = Mapping[str, Value]
"""The values of terms, such as `Core.Description` or one with its full name.

As in CSDL JSON, a qualifier follows the term and `#`.
"""

_SCHEME = "bearer"
_FORMATS = (
    "application/json;odata.metadata=minimal",
    "application/json;odata.metadata=full",
    "application/json;odata.metadata=none",
    "application/json;odata.metadata=minimal;IEEE754Compatible=true",
)


_NOT_INSERTABLE: Annotations = {"Capabilities.InsertRestrictions": {"Insertable": False}}
_NOT_WRITABLE: Annotations = {
    **_NOT_INSERTABLE,
    "Capabilities.UpdateRestrictions": {"Updatable": False},
    "Capabilities.DeleteRestrictions": {"Deletable": False},
}


def description_annotations(text: str) -> Annotations:
    """The description of an element, if it has one."""
    return {"Core.Description": text} if text else {}


def edit_annotations(
    entity_set: EntitySet, declared: Property, capabilities: Capabilities
) -> Annotations:
    """Terms for what clients may not set, or only in a create, as Business Central has them."""
    is_shown = capabilities.behaviour.forms.edit_terms and not declared.is_stream
    if not is_shown or _settable(entity_set, declared, creating=False):
        return {}
    term = f"{entity_set.type.namespace}.AllowEdit"
    on_create = _settable(entity_set, declared, creating=True)
    return {term: False, **({f"{term}OnCreate": True} if on_create else {})}


def set_annotations(
    entity_set: EntitySet, capabilities: Capabilities, *, at_root: bool
) -> Annotations:
    """The capabilities of a set at its address, which may begin at the root of the document."""
    read_only = AnnotatedMember("Core.Permission", "Read")
    has_tags = at_root and entity_set.if_match and not entity_set.read_only
    return {
        # empty, because ETags are not computed from properties
        **({"Core.OptimisticConcurrency": ()} if has_tags else {}),
        **({"Core.Permissions": read_only} if entity_set.read_only else {}),
        "Capabilities.ReadRestrictions": {
            "Readable": True,
            "Permissions": _permissions(capabilities.read_scope),
        },
        **_write_restrictions(entity_set, capabilities),
        **_query_capabilities(entity_set, capabilities),
    }


def unreadable_set_annotations(where: str) -> Annotations:
    """The annotations of a set that is declared for references only; `where` is its address."""
    return {
        "Core.Description": where,
        "Capabilities.ReadRestrictions": {"Readable": False},
        "Capabilities.NavigationRestrictions": {
            "Navigability": AnnotatedMember("Capabilities.NavigationType", "None")
        },
        **_NOT_WRITABLE,
    }


def navigation_annotations(navigation: NavigationProperty, target: EntitySet) -> Annotations:
    """The restriction that related records are created in their own set, unless contained."""
    is_insertable = navigation.contained and not target.read_only
    return _NOT_INSERTABLE if navigation.collection and not is_insertable else {}


def container_annotations(capabilities: Capabilities) -> Annotations:
    """The capabilities of the service."""
    conformance = AnnotatedMember("Capabilities.ConformanceLevelType", "Intermediate")
    token: Record = {
        "@type": "Authorization.Http",
        "Name": _SCHEME,
        "Description": "A bearer token (RFC 6750).",
        "Scheme": "bearer",
        "BearerFormat": "JWT",
    }
    return {
        "Core.Description": (
            "Business records. The entity sets of a company are under companies({id})."
        ),
        "Core.ODataVersions": "4.0",
        "Authorization.Authorizations": (token,),
        "Authorization.SecuritySchemes": ({"Authorization": _SCHEME},),
        "Capabilities.ConformanceLevel": conformance,
        "Capabilities.SupportedFormats": _FORMATS,
        "Capabilities.SupportedMetadataFormats": ("application/xml", "application/json"),
        "Capabilities.AcceptableEncodings": (),
        "Capabilities.AsynchronousRequestsSupported": False,
        "Capabilities.CrossJoinSupported": False,
        "Capabilities.KeyAsSegmentSupported": False,
        "Capabilities.QuerySegmentSupported": False,
        "Capabilities.AnnotationValuesInQuerySupported": False,
        "Capabilities.BatchSupported": True,
        "Capabilities.BatchSupport": {
            "Supported": True,
            "ContinueOnErrorSupported": True,
            "ReferencesInRequestBodiesSupported": False,
            "ReferencesAcrossChangeSetsSupported": True,
            "EtagReferencesSupported": True,
            "RequestDependencyConditionsSupported": True,
            "SupportedFormats": ("multipart/mixed", "application/json"),
        },
        "Capabilities.FilterFunctions": capabilities.filter_functions,
        "Capabilities.DeepInsertSupport": {"Supported": capabilities.behaviour.writes.related},
        "Capabilities.DeepUpdateSupport": {"Supported": False},
        "Repeatability.Supported": True,
    }


def _permissions(scope: str) -> Value:
    return ({"SchemeName": _SCHEME, "Scopes": ({"Scope": scope},)},)


def _paths(names: Iterable[str]) -> tuple[PropertyPath, ...]:
    return tuple(PropertyPath(name) for name in names)


def _properties(kind: str, names: Sequence[str]) -> Record:
    """The member with the properties of a kind, if there are any."""
    return {f"{kind}Properties": _paths(names)} if names else {}


def _write_restrictions(entity_set: EntitySet, capabilities: Capabilities) -> Annotations:
    entity_type = entity_set.type
    if entity_set.read_only:
        return _NOT_WRITABLE
    permissions: Record = {"Permissions": _permissions(capabilities.write_scope)}
    return {
        "Capabilities.InsertRestrictions": {
            "Insertable": True,
            **_properties("Required", [each.name for each in entity_type.required]),
            **_properties("NonInsertable", _refused(entity_set, capabilities, creating=True)),
            **permissions,
        },
        # UpdateMethod is omitted: clients then expect PATCH and may use PUT, and both are supported
        "Capabilities.UpdateRestrictions": {
            "Updatable": True,
            "Upsertable": False,
            **_properties("NonUpdatable", _refused(entity_set, capabilities, creating=False)),
            **permissions,
        },
        "Capabilities.DeleteRestrictions": {"Deletable": True, **permissions},
    }


def _refused(entity_set: EntitySet, capabilities: Capabilities, *, creating: bool) -> list[str]:
    """The properties that the body of a create or of an update must not have.

    Without `refuses_computed`, those that it may have without an effect are not listed, other than
    what only a create may set.
    """
    return [
        each.name
        for each in entity_set.type.properties
        if not _settable(entity_set, each, creating=creating)
        and (capabilities.refuses_computed or each.kept_on_create or each.immutable)
    ]


def _settable(entity_set: EntitySet, declared: Property, *, creating: bool) -> bool:
    return not entity_set.read_only and entity_set.type.accepts(
        declared, creating=creating, any_key=False
    )


def _query_capabilities(entity_set: EntitySet, capabilities: Capabilities) -> Annotations:
    entity_type, filter_only = entity_set.type, entity_set.filter_only
    hidden = entity_type.unqueried
    expressions: Value = tuple(
        {"Property": PropertyPath(name), "AllowedExpressions": "SingleValue"}
        for name in filter_only
    )
    expandable = bool(entity_type.navigation) or not entity_set.per_company
    queries = capabilities.behaviour.queries
    is_tracked = entity_set.tracks_changes and queries.tracks_changes
    unsupported = queries.unsupported
    aggregation: Annotations = {}
    if "$apply" not in unsupported:
        aggregation = {"Aggregation.ApplySupported": _aggregation(entity_set, capabilities)}
    return {
        "Capabilities.FilterRestrictions": {
            "Filterable": True,
            "RequiresFilter": False,
            # a filter does not read the records of several companies
            **({} if entity_set.per_company else {"MaxLevels": 0}),
            **_properties("NonFilterable", hidden),
            **({"FilterExpressionRestrictions": expressions} if filter_only else {}),
        },
        "Capabilities.SortRestrictions": {
            "Sortable": True,
            **_properties("NonSortable", (*hidden, *filter_only)),
        },
        "Capabilities.ExpandRestrictions": {
            "Expandable": expandable,
            **({"MaxLevels": capabilities.expand_levels} if expandable else {}),
        },
        "Capabilities.SearchRestrictions": {"Searchable": "$search" not in unsupported},
        "Capabilities.CountRestrictions": {"Countable": True},
        "Capabilities.SelectSupport": {"Supported": True},
        "Capabilities.TopSupported": True,
        "Capabilities.SkipSupported": True,
        "Capabilities.ComputeSupported": "$compute" not in unsupported,
        "Capabilities.IndexableByKey": True,
        "Capabilities.ChangeTracking": {
            "Supported": is_tracked,
            **_properties("Filterable", entity_type.queried if is_tracked else ()),
        },
        **aggregation,
    }


def _aggregation(entity_set: EntitySet, capabilities: Capabilities) -> Record:
    entity_type = entity_set.type
    declared = [entity_type.by_name[name] for name in entity_type.queried]
    return {
        "Transformations": capabilities.transformations,
        "Rollup": AnnotatedMember("Aggregation.RollupType", "None"),
        "From": False,
        "GroupableProperties": _paths(each.name for each in declared if not each.is_unlimited),
        "AggregatableProperties": tuple(
            {
                "Property": PropertyPath(each.name),
                "SupportedAggregationMethods": capabilities.methods_of(each.type),
            }
            for each in declared
        ),
    }
