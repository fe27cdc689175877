"""Every way to read records: each set by itself, along navigation properties, and in expressions.

Each record has a text that names its set, so that a response shows whose records it contains.
"""

from collections.abc import Iterator, Mapping

import msgspec

from comptoir.edm.model import EntitySet, NavigationProperty
from comptoir.edm.types import Text
from support.client import Record
from support.relating import RELATING
from support.samples import PATHS, SAMPLES
from support.subjects import address


class Read(msgspec.Struct, frozen=True):
    """A request that reads, and the sets that it names."""

    path: str
    query: str
    sets: frozenset[str]


def _canary_property(entity_set: EntitySet) -> str:
    """A text that takes any value, and on which no relation depends."""
    relating = {entity_set.type.key}
    for source in RELATING.sets:
        for each in source.type.navigation:
            if source.name == entity_set.name:
                relating.add(each.on[0])
            if each.target == entity_set.name:
                relating |= {each.on[1], *each.only}
    return next(
        each.name
        for each in entity_set.type.properties
        if isinstance(each.type, Text) and each.type.max_length == 4_000
        if each.name not in relating and not each.secret
    )


CANARY_PROPERTY = {each.name: _canary_property(each) for each in RELATING.stored}
CANARIES = {name: f"CANARY {name.upper()}" for name in CANARY_PROPERTY}
MARKED: Mapping[str, Record] = {
    name: {**sample, CANARY_PROPERTY[name]: CANARIES[name]} for name, sample in SAMPLES.items()
}
VIEWS = {each.name: each for each in RELATING.per_company if each.view is not None}
# the record of a view has the key of the record that it shows
ADDRESS = dict(PATHS) | {
    name: PATHS[each.view.base].replace(each.view.base, name)
    for name, each in VIEWS.items()
    if each.view is not None
}


def _shown(entity_set: EntitySet) -> str:
    """A property to read and compare."""
    return CANARY_PROPERTY.get(entity_set.name) or next(
        each.name for each in entity_set.type.properties if isinstance(each.type, Text)
    )


def own_reads(entity_set: EntitySet) -> Iterator[Read]:
    name, shown = entity_set.name, _shown(entity_set)
    record, only = ADDRESS[name], frozenset({name})
    yield Read(name, f"$filter={shown} ne ''&$orderby={shown}&$count=true", only)
    yield Read(name, f"$apply=groupby(({shown}))", only)
    yield Read(record, f"$select={shown}", only)
    for path in (name, f"{name}/$count", f"{name}/$ref", record, f"{record}/$ref"):
        yield Read(path, "", only)
    for path in (f"{record}/{shown}", f"{record}/{shown}/$value"):
        yield Read(path, "", only)
    for rule in entity_set.type.unique:
        if name in MARKED:
            yield Read(address(entity_set, MARKED[name], *rule.properties), "", only)


def related_reads(source: EntitySet, navigation: NavigationProperty) -> Iterator[Read]:
    """Every way to name one navigation property."""
    name, record, to = source.name, ADDRESS[source.name], navigation.name
    target = RELATING.by_name[navigation.target]
    sets = frozenset({name, target.name})
    shown = _shown(target)
    yield Read(f"{record}/{to}", "", sets)
    if navigation.collection:
        yield Read(f"{record}/{to}/$count", "", sets)
        yield Read(f"{record}/{to}/$ref", "", sets)
        yield Read(f"{record}/{ADDRESS[target.name].replace(target.name, to)}", "", sets)
        yield Read(name, f"$expand={to}/$count", sets)
        yield Read(name, f"$expand={to}($filter={shown} ne '';$count=true)", sets)
        yield Read(name, f"$filter={to}/all(x:x/{shown} ne '')", sets)
    else:
        yield Read(f"{record}/{to}/{shown}", "", sets)
        yield Read(f"{record}/{to}/{shown}/$value", "", sets)
        yield Read(name, f"$apply=groupby(({to}/{shown}))", sets)
        yield Read(name, f"$apply=aggregate({to}/{shown} with max as most)", sets)
        yield Read(name, f"$compute=length({to}/{shown}) as n&$select=n", sets)
    condition = _condition(navigation, shown)
    value = _value(navigation, target)
    for query in (
        *(f"$expand={to}", f"$expand={to}/$ref", f"$filter=@c&@c={condition}"),
        *(f"$orderby={value}", f"$apply=filter({condition})", f"$apply=identity&$orderby={value}"),
        f"$apply=compute({value} as n)/aggregate(n with sum as total)",
    ):
        yield Read(name, query, sets)
    for path in (name, f"{name}/$count", f"{name}/$ref"):
        yield Read(path, f"$filter={condition}", sets)
    for path in (name, record):
        yield Read(path, f"$compute={value} as n", sets)
    yield Read(record, f"$expand={to}($select={shown})", sets)


def _condition(navigation: NavigationProperty, shown: str) -> str:
    if navigation.collection:
        return f"{navigation.name}/any(x:x/{shown} ne '')"
    return f"{navigation.name}/{shown} ne ''"


def _value(navigation: NavigationProperty, target: EntitySet) -> str:
    if navigation.collection:
        return f"{navigation.name}/$count"
    return f"length({navigation.name}/{_shown(target)})"


def nested_reads(source: EntitySet, first: NavigationProperty) -> Iterator[Read]:
    """Every way to name a navigation property of the records to which another one leads."""
    middle = RELATING.by_name[first.target]
    for second in middle.type.navigation:
        target = RELATING.by_name[second.target]
        sets = frozenset({source.name, middle.name, target.name})
        inner = _condition(second, _shown(target)).replace("x:x", "y:y")
        through = f"{first.name}/any(x:x/{inner})" if first.collection else f"{first.name}/{inner}"
        yield Read(source.name, f"$expand={first.name}($expand={second.name})", sets)
        yield Read(source.name, f"$expand={first.name}($expand={second.name}/$ref)", sets)
        yield Read(source.name, f"$filter={through}", sets)
        path = ADDRESS[source.name], first.name
        if first.collection:
            yield Read(source.name, f"$expand={first.name}($filter={inner})", sets)
            yield Read(
                source.name, f"$expand={first.name}($orderby={_value(second, target)})", sets
            )
            path = path[0], ADDRESS[middle.name].replace(middle.name, first.name)
        yield Read(f"{'/'.join(path)}/{second.name}", "", sets)


NAVIGATION = [(source, each) for source in RELATING.per_company for each in source.type.navigation]
"""Each navigation property with its source."""
