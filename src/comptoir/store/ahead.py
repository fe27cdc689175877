"""Reading ahead: what the units of many writes would look up one by one, in a few statements.

It changes no decision, since every unit decides by what its transaction knows, however it knows it.
What is not read ahead, a unit looks up itself.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from comptoir.edm.entity import EntityType, Followed
from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored
from comptoir.plan.load import Values
from comptoir.plan.write import CreatePlan, DeletePlan, WritePlan
from comptoir.sql.statements import Statements
from comptoir.store.bulk import matching
from comptoir.store.change import Steps
from comptoir.store.known import Known

_Wanted = dict[tuple[EntitySet, tuple[str, ...]], dict[Values, None]]
"""Sets, properties of a key or a unique rule, and the values for which records are looked up."""


def read_ahead(
    company_id: str, plans: Iterable[WritePlan], statements: Statements, known: Known
) -> Steps:
    """Read the records that writes of a company are about, and those that decide on them.

    What a single one of them asks for is left to its unit.
    """
    wanted: _Wanted = {}
    for plan in plans:
        _want(plan, wanted)
    yield from _read(company_id, wanted, statements, known)
    referred: _Wanted = {}
    for plan in plans:
        if not isinstance(plan, CreatePlan | DeletePlan) and plan.key is not None:
            kind = plan.entity_set.type
            current = known.get((plan.entity_set.name, (kind.key,), (plan.key,)))
            if current is not None:
                record = dict(zip(kind.by_name, current[1:], strict=True))
                _want_followed(plan.entity_set, record, plan.values.given, referred)
    yield from _read(company_id, referred, statements, known)


def _want(plan: WritePlan, wanted: _Wanted) -> None:
    """What the plan alone says that its unit looks up."""
    kind = plan.entity_set.type
    is_new = isinstance(plan, CreatePlan) and plan.values.key_is_made
    if plan.key is not None and not is_new:
        wanted.setdefault((plan.entity_set, (kind.key,)), {})[(plan.key,)] = None
    if isinstance(plan, DeletePlan):
        return
    given = plan.values.given
    for rule in kind.unique:
        if given.keys() >= set(rule.properties):
            values = tuple(given[name] for name in rule.properties)
            if not (rule.blank_is_free and values == ("",)):
                wanted.setdefault((plan.entity_set, rule.properties), {})[values] = None
    _want_followed(plan.entity_set, {}, given, wanted)


def _want_followed(
    entity_set: EntitySet,
    record: Mapping[str, Stored],
    given: Mapping[str, Stored],
    wanted: _Wanted,
) -> None:
    """The records from which values follow, as a record names them or is about to."""
    for rule in _followed(entity_set.type):
        reference = given.get(rule.reference, record.get(rule.reference, ""))
        if reference != "" and rule.target not in given:
            wanted.setdefault((entity_set, (rule.named_by,)), {})[(reference,)] = None


@cache
def _followed(kind: EntityType) -> list[Followed]:
    unique = [rule.properties for rule in kind.unique]
    followed = [rule for rule in kind.derivations if isinstance(rule, Followed)]
    return [rule for rule in followed if (rule.named_by,) in unique]


def _read(company_id: str, wanted: _Wanted, statements: Statements, known: Known) -> Steps:
    for (entity_set, names), places in wanted.items():
        values = [each for each in places if (entity_set.name, names, each) not in known]
        if len(values) > 1:
            found = yield from matching(company_id, entity_set, names, values, statements)
            known.learn(entity_set, names, values, found)
