"""Paths bound to the model: which set of which company, and which record."""

import msgspec

from comptoir.edm.model import EntitySet, Model
from comptoir.edm.primitive import Stored, ValueFault
from comptoir.edm.scalar import is_guid
from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, RESOURCE_NOT_FOUND, Refusal
from comptoir.request.path import KeyPart, Segment

COMPANIES = "companies"
_KNOWN_SUFFIXES = frozenset({"$metadata", "$batch", "$count", "$value", "$ref", "$entity", "$all"})


class Company(msgspec.Struct, frozen=True):
    """A company that exists: its id, and the incarnation that its records' tags carry."""

    id: str
    incarnation: str


class Target(msgspec.Struct, frozen=True):
    """What a path names: a set, under a company unless the set is the companies, and maybe a key.

    The company's id has the form of a Guid; whether there is such a company is the store's to say.
    """

    entity_set: EntitySet
    company_id: str | None
    key: Stored | None


def company_of(segments: tuple[Segment, ...]) -> str | None:
    """The id of the company under which a path stands; None for a path that names none.

    Raises `Refusal` (400) for a key that is no Guid.
    """
    if not segments or segments[0].name != COMPANIES or segments[0].key is None:
        return None
    parts = segments[0].key
    first = parts[0]
    if len(parts) > 1 or first.name not in (None, "id") or first.quoted or not is_guid(first.text):
        raise Refusal(
            INVALID_URL, f"The company's id must be a Guid: {COMPANIES}(<guid>).", target=COMPANIES
        )
    return first.text.lower()


def resolve(model: Model, segments: tuple[Segment, ...], company_id: str | None) -> Target:
    """Bind a path to the model, whose company (`company_of`) is known to exist.

    Raises `Refusal`: 404 for an unknown resource, 400 for a malformed key, 501 for a path of
    OData that is not supported.
    """
    if company_id is None or len(segments) == 1:
        entity_set, rest = model.by_name.get(COMPANIES), segments
    else:
        entity_set, rest = model.by_name.get(segments[1].name), segments[1:]
    if not rest or entity_set is None or entity_set.name != rest[0].name:
        raise _not_found(segments)
    if len(rest) > 1:
        raise _beyond(entity_set, rest[1].name, segments)
    if rest is segments:
        return Target(entity_set, None, company_id)
    if not entity_set.per_company:
        raise _not_found(segments)
    key = None if rest[0].key is None else _key(entity_set, rest[0].key)
    return Target(entity_set, company_id, key)


def _not_found(segments: tuple[Segment, ...]) -> Refusal:
    path = "/".join(segment.name for segment in segments)
    if not segments:
        return Refusal(NOT_IMPLEMENTED, f"The service document is not supported. GET {COMPANIES}.")
    if segments[-1].name in _KNOWN_SUFFIXES:
        return Refusal(NOT_IMPLEMENTED, f"{segments[-1].name} is not supported.")
    return Refusal(
        RESOURCE_NOT_FOUND,
        f"There is no resource {path[:200]!r}. Resources stand under {COMPANIES}(<guid>)/ and "
        "their names are case-sensitive.",
    )


def _beyond(entity_set: EntitySet, name: str, segments: tuple[Segment, ...]) -> Refusal:
    if name in entity_set.type.by_name:
        return Refusal(
            NOT_IMPLEMENTED,
            f"Reading the single property {name} is not supported. Read the whole record.",
        )
    return _not_found(segments)


def _key(entity_set: EntitySet, parts: tuple[KeyPart, ...]) -> Stored:
    key = entity_set.type.key_property
    part = parts[0]
    if len(parts) > 1 or part.name not in (None, key.name):
        names = [each.name for each in parts if each.name is not None]
        if names and all(name in entity_set.type.by_name for name in names):
            raise Refusal(
                NOT_IMPLEMENTED,
                f"The key of {entity_set.name} is {key.name}; other keys are not supported. "
                "Find the record with $filter.",
            )
        raise Refusal(INVALID_URL, f"The key of {entity_set.name} is {key.name} alone.")
    if part.quoted != key.type.quoted:
        form = f"{key.name}='…', in quotes" if not part.quoted else f"{key.name}, without quotes"
        raise Refusal(INVALID_URL, f"The key of {entity_set.name} is {form}.", target=key.name)
    try:
        return key.type.from_key(part.text)
    except ValueFault as fault:
        raise Refusal(
            INVALID_URL, f"In the key of {entity_set.name}, {key.name} {fault}", target=key.name
        ) from None
