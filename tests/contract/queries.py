"""Valid query options over the properties of an entity set, at random: plain text makes none."""

from collections.abc import Callable, Mapping

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from schemathesis.core.jsonschema.types import JsonValue

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet, Property

Texts = SearchStrategy[str]

_LETTERS = st.text(st.sampled_from("aAé ß'%_+&#/\\\u4e2d"), max_size=6)
_LITERALS: Mapping[str, Texts] = {
    "Edm.String": _LETTERS.map(lambda text: "'" + text.replace("'", "''") + "'"),
    "Edm.Int32": st.integers(-(2**31), 2**31 - 1).map(str),
    "Edm.Decimal": st.decimals(-1_000, 1_000, places=5).map(lambda number: f"{number:f}"),
    "Edm.Boolean": st.sampled_from(["true", "false"]),
    "Edm.Guid": st.uuids().map(str),
    "Edm.Date": st.dates().map(str),
    "Edm.DateTimeOffset": st.datetimes().map(lambda each: f"{each:%Y-%m-%dT%H:%M:%S}Z".zfill(20)),
}
_CALLS: Mapping[str, tuple[str, ...]] = {
    "Edm.String": (
        "length({0}) gt 3",
        "tolower(trim({0})) ne toupper({0})",
        "concat({0},'x') ge substring({0},1)",
        "indexof({0},'a') eq -1",
    ),
    "Edm.Int32": ("{0} add 1 sub 1 eq {0}", "{0} mod 7 mul 2 lt 9"),
    "Edm.Decimal": ("round({0}) le ceiling({0})", "{0} div 2 ne floor({0})"),
    "Edm.Date": ("year({0}) gt 2000 and month({0}) le day({0})",),
    "Edm.DateTimeOffset": ("date({0}) lt 2030-01-01", "hour({0}) ge minute({0})", "{0} le now()"),
}
"""Type to conditions with functions and arithmetic over a property of it."""
_COMPARISONS = st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])
_TEXT_TESTS = st.sampled_from(["contains", "startswith", "endswith"])
_WORDS = st.sampled_from(["Hill", "gra", '"Main Street"', "NOT Hill"])


def _askable(entity_set: EntitySet) -> list[Property]:
    return [each for each in entity_set.type.properties if not each.secret]


def _names(entity_set: EntitySet) -> Texts:
    return st.sampled_from([each.name for each in _askable(entity_set)])


@st.composite
def _condition(draw: st.DrawFn, entity_set: EntitySet) -> str:
    asked = draw(st.sampled_from(_askable(entity_set)))
    literals = _LITERALS[asked.type.edm_name]
    form = draw(st.sampled_from(["comparison", "list", "test", "call", "relation"]))
    if form == "call" and asked.type.edm_name in _CALLS:
        return draw(st.sampled_from(_CALLS[asked.type.edm_name])).format(asked.name)
    relations = [each for each in entity_set.type.navigation if each.collection]
    if form == "relation" and relations:
        relation = draw(st.sampled_from(relations))
        key = MODEL.by_name[relation.target].type.key
        return f"{relation.name}/{draw(st.sampled_from(['any', 'all']))}(r:r/{key} ne null)"
    if form == "list":
        return f"{asked.name} in ({','.join(draw(st.lists(literals, min_size=1, max_size=3)))})"
    if form == "test" and asked.type.edm_name == "Edm.String":
        return f"{draw(_TEXT_TESTS)}({asked.name},{draw(literals)})"
    return f"{asked.name} {draw(_COMPARISONS)} {draw(literals)}"


def _filters(entity_set: EntitySet) -> Texts:
    if entity_set.pair_filter is not None:
        pairs, values = entity_set.pair_filter, _LITERALS["Edm.String"]
        return values.map(lambda value: f"{pairs.name}1 eq {value} and {pairs.value}1 eq {value}")
    joined = st.sampled_from([" and ", " or "])
    return st.recursive(
        _condition(entity_set),
        lambda inner: st.one_of(
            inner.map(lambda text: f"not ({text})"),
            st.builds(lambda by, parts: f"({by.join(parts)})", joined, _few(inner)),
        ),
        max_leaves=4,
    )


def _few(texts: Texts) -> SearchStrategy[list[str]]:
    return st.lists(texts, min_size=1, max_size=3)


def _orders(entity_set: EntitySet) -> Texts:
    orders = st.tuples(_names(entity_set), st.sampled_from(["", " asc", " desc"]))
    several = st.lists(orders, min_size=1, max_size=3, unique_by=lambda each: each[0])
    return several.map(lambda given: ",".join(map("".join, given)))


_OF_MANY = ("", "($top=2)", "($count=true;$skip=1)")


def _expansions(entity_set: EntitySet) -> Texts:
    ways = [
        f"{each.name}{options}"
        for each in entity_set.type.navigation
        for options in (_OF_MANY if each.collection else ("",))
    ]
    ways += [f"{name}{options}" for name in MODEL.contained(entity_set) for options in _OF_MANY]
    return st.sampled_from(ways) if ways else st.nothing()


def _groups(entity_set: EntitySet) -> Texts:
    return _names(entity_set).map(lambda name: f"groupby(({name}),aggregate($count as number_of))")


OPTIONS: Mapping[str, Callable[[EntitySet], Texts]] = {
    "$filter": _filters,
    "$orderby": _orders,
    "$select": lambda entity_set: _few(_names(entity_set)).map(dict.fromkeys).map(",".join),
    "$expand": _expansions,
    "$search": lambda _: _few(_WORDS).map(" OR ".join),
    "$apply": _groups,
    "$format": lambda _: st.sampled_from(["json", "application/json;odata.metadata=full"]),
    "$compute": lambda entity_set: _names(entity_set).map(lambda name: f"{name} as same"),
}
"""Query option to texts of it that are valid for an entity set; no text where it has none."""

_PARTS: SearchStrategy[dict[str, JsonValue]] = st.builds(
    lambda url, group: {"method": "GET", "url": url, **group},
    st.sampled_from(["companies", "itemsExt?$top=1", "itemsExt/$count", "none"]),
    st.sampled_from([{}, {"headers": {"Accept": "application/json"}}]),
)


def _batch(parts: list[dict[str, JsonValue]]) -> JsonValue:
    return {"requests": [{"id": str(number), **part} for number, part in enumerate(parts)]}


BATCHES: SearchStrategy[JsonValue] = st.lists(_PARTS, max_size=3).map(_batch)
"""Bodies of batches, of reads; an address that leads nowhere is refused on its own."""


def found_at(path: str, entity_set: EntitySet) -> EntitySet:
    """The entity set of the records that a path leads to; a relation may lead to another one."""
    last = path.removesuffix("/$count").removesuffix("/$ref").rpartition("/")[2]
    targets = {each.name: each.target for each in entity_set.type.navigation}
    return MODEL.by_name[targets.get(last, entity_set.name)]
