"""Reading ahead: what the writes of many records would look up one by one, in a few statements.

It changes no decision, since every unit decides by what its transaction knows, however it knows it.
What is not read ahead, a unit looks up itself.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import cache

from comptoir.edm.model import EntitySet, EntityType, Followed, KeyValues
from comptoir.edm.types import Stored
from comptoir.plan.read import Row
from comptoir.plan.write import CreatePlan, DeletePlan, WritePlan
from comptoir.sql.prepared import Statement
from comptoir.sql.statements import Statements
from comptoir.store.change import Steps
from comptoir.store.known import Known


def matching(
    company_id: str,
    entity_set: EntitySet,
    names: tuple[str, ...],
    wanted: Sequence[KeyValues],
    statements: Statements,
) -> Generator[Statement, list[Row], dict[KeyValues, Row]]:
    """The records that have some of the wanted values of these properties, by those values."""
    positions = [entity_set.type.column_of[name] for name in names]
    found: dict[KeyValues, Row] = {}
    for query in statements.writes.matches(company_id, entity_set, names, wanted):
        rows = yield query
        for row in rows:
            found[tuple([row[at] for at in positions])] = row
    return found


class Wanted:
    """Values of keys and of unique rules, for which records are to be read."""

    def __init__(self) -> None:
        self._values: dict[tuple[EntitySet, tuple[str, ...]], dict[KeyValues, None]] = {}

    def add(self, entity_set: EntitySet, names: tuple[str, ...], values: KeyValues) -> None:
        """Want the record that has these values of a key or a unique rule."""
        self._values.setdefault((entity_set, names), {})[values] = None

    def add_followed(
        self, entity_set: EntitySet, record: Mapping[str, Stored], given: Mapping[str, Stored]
    ) -> None:
        """Want those from which values follow, as a record names them or is about to."""
        for rule in _followed(entity_set.type):
            reference = given.get(rule.reference, record.get(rule.reference, ""))
            if reference != "" and rule.target not in given:
                self.add(entity_set, (rule.named_by,), (reference,))

    def read(self, company_id: str, statements: Statements, known: Known) -> Steps:
        """Read what is not known yet, but for a record that would be the only one of its sort."""
        for (entity_set, names), places in self._values.items():
            values = [each for each in places if (entity_set.name, names, each) not in known]
            if len(values) > 1:
                found = yield from matching(company_id, entity_set, names, values, statements)
                known.learn(entity_set, names, values, found)


def read_ahead(
    company_id: str, plans: Iterable[WritePlan], statements: Statements, known: Known
) -> Steps:
    """Read the records that writes of a company are about, and those that decide on them.

    What a single one of them asks for is left to its unit.
    """
    wanted = Wanted()
    for plan in plans:
        _want(plan, wanted)
    yield from wanted.read(company_id, statements, known)
    referred = Wanted()
    for plan in plans:
        if not isinstance(plan, CreatePlan | DeletePlan) and plan.key is not None:
            kind = plan.entity_set.type
            current = known.get((plan.entity_set.name, (kind.key,), (plan.key,)))
            if current is not None:
                record = dict(zip(kind.by_name, current[1:], strict=True))
                referred.add_followed(plan.entity_set, record, plan.body.values)
    yield from referred.read(company_id, statements, known)


def _want(plan: WritePlan, wanted: Wanted) -> None:
    """What the plan alone says that its unit looks up."""
    kind = plan.entity_set.type
    is_new = isinstance(plan, CreatePlan) and plan.body.key_is_generated
    if plan.key is not None and not is_new:
        wanted.add(plan.entity_set, (kind.key,), (plan.key,))
    if isinstance(plan, DeletePlan):
        return
    given = plan.body.values
    for rule in kind.unique:
        if given.keys() >= set(rule.properties):
            values = tuple(given[name] for name in rule.properties)
            if not (rule.blank_is_free and values == ("",)):
                wanted.add(plan.entity_set, rule.properties, values)
    wanted.add_followed(plan.entity_set, {}, given)


@cache
def _followed(kind: EntityType) -> list[Followed]:
    unique = [rule.properties for rule in kind.unique]
    followed = [rule for rule in kind.derivations if isinstance(rule, Followed)]
    return [rule for rule in followed if (rule.named_by,) in unique]
