"""Related records in the body of a create, which are created together with the record."""

from collections.abc import Callable, Iterator, Set

from msgspec.structs import replace

from comptoir import refusal_rows as rows
from comptoir.auth import Right, Rights
from comptoir.edm.model import EntitySet, Model
from comptoir.errors import refuse
from comptoir.jsonvalue import Json, json_type
from comptoir.plan.rights import check_right
from comptoir.plan.write import CreatePlan, RelatedWrite
from comptoir.request.payload import without_annotations

MOST_RELATED = 1_000
"""The most related records of a body."""

Plan = Callable[[EntitySet, dict[str, Json], Set[str]], CreatePlan]
"""Plans the create of a related record, which gets the named values from its relation."""


def take_related(
    model: Model, entity_set: EntitySet, sent: dict[str, Json], rights: Rights | None, plan: Plan
) -> tuple[RelatedWrite, ...]:
    """Take the related records out of the body of a create.

    Only the records of collections, on one level. Raises `Refusal`: 403 without the right to create
    them, 405 for a set that is read-only, 400 for too many of them or another value than an array
    of objects.
    """
    names = [each.name for each in entity_set.type.navigation if each.collection]
    # before the first is planned: a long body may have millions
    if sum(_count(sent.get(each)) for each in names) > MOST_RELATED:
        raise refuse(rows.TOO_MANY_RELATED, limit=MOST_RELATED)
    return tuple(_related(model, entity_set, sent, rights, plan))


def _count(sent: Json) -> int:
    return len(sent) if isinstance(sent, list) else 0


def _related(
    model: Model, entity_set: EntitySet, sent: dict[str, Json], rights: Rights | None, plan: Plan
) -> Iterator[RelatedWrite]:
    for navigation in entity_set.type.navigation:
        name = navigation.name
        if name not in sent or not navigation.collection:
            continue
        target = model.by_name[navigation.target]
        if rights is not None:
            check_right(target, Right.INSERT, rights)
        if target.read_only:
            raise refuse(rows.METHOD, method="POST", resource=target.name, allowed="HEAD, GET")
        own, other = navigation.on
        given = {other, *navigation.only}
        for each in _objects(name, sent.pop(name)):
            values = {key: value for key, value in each.items() if key not in given}
            child = plan(target, values, given)
            body = replace(child.body, values={**child.body.values, **navigation.only})
            yield RelatedWrite(own, other, replace(child, body=body))


def _objects(name: str, sent: Json) -> Iterator[dict[str, Json]]:
    listed = sent if isinstance(sent, list) else [sent]
    for each in listed:
        if not isinstance(each, dict) or listed is not sent:
            raise refuse(rows.NOT_RELATED_OBJECTS, name, name=name, json=json_type(each))
        yield without_annotations(each)
