"""Random operations on a company for Hypothesis; of few values, so that they conflict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from support import evaluator
from support.evaluator import Operand
from support.model import ENTITY_RULES, STAMP, Sent
from support.random_expressions import any_of

_STARTS = ("00000000", "00000001", "00000002", "ABCDEFAB")
IDS = tuple([f"{start}-0000-4000-8000-000000000003" for start in _STARTS])
CODES = ("A", "B", "b", "it's/ü")
Resources = tuple[str, ...]
_Choices = Mapping[str, SearchStrategy[object]]

VALUES: Mapping[str, Mapping[str, Sequence[object]]] = {
    "contactsExt": {
        "id": IDS,
        "displayName": ("Ann", "Weiß", "Kontor", ""),
        "number": ("C1", "C2", "P1", ""),
        "type": ("Company", "Person"),
        "companyNumber": ("C1", "C2", "P1", ""),
        "companyName": ("Own", ""),
        "searchName": ("own",),
        "privacyBlocked": (True, False),
        "lastInteractionDate": ("2024-02-29", "0001-01-01"),
        "onlinePassword": ("secret",),
        STAMP: ("2019-04-03T10:20:30.123Z", "soon"),
    },
    "shippingAgentsExt": {"id": IDS, "code": (*CODES, ""), "name": ("", "x", "X", "it''s")},
    "unitsOfMeasureExt": {
        "code": (*CODES, ""),
        "displayName": ("", "x", "X"),
        "symbol": ("", "m²"),
        STAMP: ("2019-04-03T10:20:30.123Z",),
    },
    "itemTranslationsExt": {
        "id": IDS,
        "itemNo": ("1", "2", ""),
        "languageCode": ("DEU", "FRA"),
        "variantCode": ("", "RED"),
        "description": ("", "Tisch", "table"),
    },
    "itemAttributesExt": {
        "id": IDS,
        "name": ("Depth", "Colour", ""),
        "attributeId": (1, "2", 3, "0"),
        "unitOfMeasure": ("", "cm"),
    },
}
"""The values of the properties in bodies, by entity set; the empty value may be one of them."""

TAG = "@odata.etag"

FLAWS: Sequence[Sent] = (
    {"nme": "x"},
    {"id": 5, "code": 5},
    {"name": None, "displayName": None, "description": None},
    {TAG: 'W/"x"', "x@odata.type": "#x"},
)
"""Additions to a body; the last one is ignored, since it is control information.

Its tag, which no record has, is the condition of an update without a header.
"""

PICKS = st.integers(0, 9)
IN_BODY = " in body"
GUARDS = st.sampled_from(
    [
        *("current", "current", "current", "*", "*", "both", "stale", "none"),
        *(f"current{IN_BODY}", f"stale{IN_BODY}"),
    ]
)


@dataclass(frozen=True)
class Move:
    """A write before its record is chosen.

    `pick` chooses an existing or deleted record, by its key or by a unique rule; `guard` relates
    its `If-Match`, or the tag in its body, to the tag of the record.
    """

    method: str
    resource: str
    body: Sent
    pick: int
    by_rule: bool
    guard: str
    must_not_exist: bool = False


@dataclass(frozen=True)
class Step:
    """Moves of a batch: an atomic group, or a single one.

    With `follows`, it depends on the previous one; with `refers`, its first move is sent to the
    record of the previous one.
    """

    moves: Sequence[Move]
    is_group: bool
    follows: bool
    refers: bool


@dataclass(frozen=True)
class Query:
    """A query of a collection; each order is a property, and whether it descends."""

    resource: str
    condition: Operand | None
    orders: Sequence[tuple[str, bool]]
    skip: int
    top: int | None
    counts: bool


@cache
def _fields(resource: str) -> tuple[_Choices, _Choices]:
    """The required properties without blank values, and all properties with all values."""
    values = VALUES[resource]
    must = {
        name: st.sampled_from([value for value in values[name] if value != ""])
        for name in ENTITY_RULES[resource].required
    }
    return must, {name: st.sampled_from(each) for name, each in values.items()}


@cache
def whole_bodies(resource: str) -> SearchStrategy[Sent]:
    """A body that creates a record, unless its unique values are in use."""
    must, fields = _fields(resource)
    may = {name: each for name, each in fields.items() if name not in must}
    return st.fixed_dictionaries(must, optional=may)


@cache
def _bodies(resource: str, *, is_whole: bool) -> SearchStrategy[Sent]:
    """Valid bodies, some without or with blank required properties, some with an error."""
    must, fields = _fields(resource)
    whole = whole_bodies(resource)
    good = whole if is_whole else st.fixed_dictionaries({}, optional={**fields, **must})
    flawed = st.tuples(whole, st.sampled_from(FLAWS)).map(lambda both: {**both[0], **both[1]})
    return st.one_of(good, good, good, good, st.fixed_dictionaries({}, optional=fields), flawed)


@cache
@st.composite
def moves(draw: st.DrawFn, resources: Resources) -> Move:
    """A write of some entity sets, by any method."""
    resource = draw(any_of(*resources))
    method = draw(any_of("POST", "POST", "PATCH", "PATCH", "PATCH", "PUT", "DELETE"))
    must_not_exist = method != "DELETE" and draw(st.integers(0, 5)) == 0
    whole = method in ("POST", "PUT") or must_not_exist
    return Move(
        method,
        resource,
        {} if method == "DELETE" else draw(_bodies(resource, is_whole=whole)),
        draw(PICKS),
        draw(any_of(False, False, True)),
        draw(GUARDS),
        must_not_exist,
    )


@cache
def creates(resource: str) -> SearchStrategy[Move]:
    """The creation of a record."""
    return whole_bodies(resource).map(
        lambda body: Move("POST", resource, body, 0, by_rule=False, guard="*")
    )


@cache
@st.composite
def steps(draw: st.DrawFn, resources: Resources) -> Step:
    """A request of a batch, or an atomic group of up to three."""
    is_group = draw(st.booleans())
    return Step(
        draw(st.lists(moves(resources), min_size=1, max_size=3 if is_group else 1)),
        is_group,
        draw(st.booleans()),
        draw(st.booleans()),
    )


@cache
def batches(resources: Resources) -> SearchStrategy[Sequence[Step]]:
    """Some steps of one batch."""
    return st.lists(steps(resources), min_size=1, max_size=4)


@cache
@st.composite
def conditions(draw: st.DrawFn, resource: str) -> Operand:
    """A condition over the texts of an entity set, which many records meet."""
    texts = [
        name
        for name, type_name in ENTITY_RULES[resource].fields.items()
        if type_name == "string" and name in VALUES[resource] and name != "onlinePassword"
    ]

    def one() -> Operand:
        name = draw(any_of(*texts))
        values = [str(value) for value in VALUES[resource][name]]
        sides = evaluator.field(name), evaluator.quoted(draw(any_of(*values, "x")))
        operator = draw(any_of(*evaluator.COMPARISONS, "contains"))
        if operator == "contains":
            return evaluator.called(operator, str.__contains__, *sides)
        return evaluator.compared(operator, *sides)

    found = one()
    if draw(st.booleans()):
        found = evaluator.joined(draw(any_of("and", "or")), [found, one()])
    return evaluator.negated(found) if draw(st.integers(0, 3)) == 0 else found


@cache
def _orders(resource: str) -> SearchStrategy[Sequence[tuple[str, bool]]]:
    fields = [name for name in VALUES[resource] if name not in (STAMP, "onlinePassword")]
    orders = st.tuples(st.sampled_from(fields), st.booleans())
    return st.lists(orders, max_size=2, unique_by=lambda each: each[0])


@cache
@st.composite
def queries(draw: st.DrawFn, resources: Resources) -> Query:
    """A query of a collection."""
    resource = draw(any_of(*resources))
    return Query(
        resource,
        draw(conditions(resource)) if draw(st.booleans()) else None,
        draw(_orders(resource)),
        draw(st.integers(0, 3)),
        draw(any_of(None, None, None, *range(5))),
        draw(st.booleans()),
    )
