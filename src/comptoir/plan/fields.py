"""`$select` and `$expand` bound to an entity type (OData URL Conventions 4.01, 5.1.3 and 5.1.4)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import msgspec

from comptoir.edm.model import Company, EntitySet, EntityType, NavigationProperty
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions.operands import BindingContext
from comptoir.plan.pages import Page, bind_page
from comptoir.plan.read import Bounds, Column
from comptoir.plan.target import check_readable, check_served, may_read
from comptoir.request.fields import (
    EXPAND,
    SELECT,
    ExpandItem,
    ExpandLimits,
    ExpandResult,
    parse_select,
    within,
)
from comptoir.request.options import QueryOptions

_STAR = ("*",)
"""The path of an item for every navigation property that has no item of its own."""

_UNSUPPORTED = ("$compute", "$apply")
_FOR_COLLECTIONS = ("$filter", "$search", "$orderby", "$top", "$skip", "$count")


def bind_select(
    entity_type: EntityType,
    text: str,
    computed: Collection[str] = (),
    contained: Collection[str] = (),
    *,
    any_case: bool,
) -> frozenset[str] | None:
    """The names of the selected properties, computed ones included; None for all.

    `contained` are the names of the sets that a record contains. With `any_case`, the case of a
    property's name does not matter. Raises `Refusal`: 400 for an
    unknown property, 501 for a path to another record.
    """
    names: set[str] = set()
    selects_all = False
    spelled = {each.lower(): each for each in entity_type.by_name} if any_case else {}
    for item in parse_select(text):
        path = _own_path(entity_type, item.path)
        name = spelled.get(path[0].lower(), path[0])
        check_served(entity_type, name, SELECT, item.position)
        if len(path) > 1:
            if name not in entity_type.related and name not in contained:
                raise _no_navigation(entity_type, SELECT, item.position, path, computed)
            shown = "/".join(item.path)[:100]
            construct = f"The path {shown} to another record"
            raise rows.NOT_SUPPORTED(SELECT, item.position, construct=construct)
        if item.all:
            selects_all = True
        elif name in entity_type.by_name or name in computed:
            names.add(name)
        elif name not in entity_type.related and name not in contained:
            known = [*entity_type.by_name, *entity_type.related, *contained, *computed]
            raise rows.UNKNOWN_SELECTED(
                SELECT,
                item.position,
                known=known,
                owner=entity_type.name,
                name=name,
                type=entity_type.qualified_name,
            )
    return None if selects_all else frozenset(names)


def bind_result_select(columns: Sequence[Column], text: str) -> frozenset[str] | None:
    """The names of the selected columns of an aggregated result; None for all.

    The name of a navigation property selects all columns along it. Raises `Refusal` (400) for an
    unknown column.
    """
    names: set[str] = set()
    selects_all = False
    for item in parse_select(text):
        found = [each.name for each in columns if each.path[: len(item.path)] == item.path]
        if item.all:
            selects_all = True
        elif found:
            names.update(found)
        else:
            name, known = "/".join(item.path), [each.name for each in columns]
            raise rows.NO_PROPERTY(
                SELECT, item.position, known=known, owner="The aggregated result", name=name
            )
    return None if selects_all else frozenset(names)


class Expansion(msgspec.Struct, frozen=True):
    """Records of a set within another record: as such, those that a company contains.

    `name` is that of the field with the records, and `collection` whether the field has any number
    of them, not one or none. `result` is `entities`, `ref` or `count`; `page` selects and sorts the
    records; `names` are the properties to write, None for all; `inner` is expanded within the
    records.
    """

    name: str
    entity_set: EntitySet
    collection: bool
    result: ExpandResult
    options: QueryOptions
    page: Page
    names: frozenset[str] | None
    inner: tuple["RelatedExpansion", ...]

    @property
    def segments(self) -> str:
        """The path from the other record to the list of these."""
        return f"{self.name}/$ref" if self.result == "ref" else self.name

    def of_company(self, company: Company) -> Self:
        """The same expansion of one company's records."""
        inner = tuple([each.of_company(company) for each in self.inner])
        return msgspec.structs.replace(self, page=self.page.of_company(company), inner=inner)


class RelatedExpansion(Expansion, frozen=True):
    """The records to which a navigation property leads from another record."""

    navigation: NavigationProperty


@dataclass(slots=True)
class ExpandBinder:
    """Binds the items of one `$expand`, nested ones included; `page_size` is that of lists.

    `binding` is that of the records: `*` leaves out the sets that are not readable. `by_record` is
    the form of links (`bind_page`).
    """

    binding: BindingContext
    company: Company | None
    limits: ExpandLimits
    page_size: int
    by_record: bool
    items: int = 0

    def related(
        self, entity_set: EntitySet, items: Sequence[ExpandItem], depth: int = 1
    ) -> tuple[RelatedExpansion, ...]:
        """Bind items to the navigation properties of a set's records.

        Raises `Refusal`: 400 for an item that does not fit the entity type, is repeated or is
        nested too deeply, 501 for an unsupported one.
        """
        expansions: list[RelatedExpansion] = []
        entity_type = entity_set.type
        sets = {
            each.name: self.binding.model.by_name[each.target] for each in entity_type.navigation
        }
        for name, item in self._by_name(entity_type, sets, items).items():
            navigation = entity_type.related[name]
            if not navigation.collection:
                self._check_single(navigation, item)
            bound = self._expansion(name, sets[name], item, depth, self.page_size)
            fields = msgspec.structs.asdict(bound) | {"collection": navigation.collection}
            expansions.append(RelatedExpansion(**fields, navigation=navigation))
        return tuple(expansions)

    def contained(
        self, entity_set: EntitySet, items: Sequence[ExpandItem], most: int
    ) -> tuple[Expansion, ...]:
        """Bind items to the sets that a record contains, for up to `most` records together.

        Raises `Refusal` as `related` does.
        """
        sets = self.binding.model.contained(entity_set)
        by_name = self._by_name(entity_set.type, sets, items)
        size = max(1, min(self.page_size, most // max(1, len(by_name))))
        return tuple(
            [self._expansion(name, sets[name], item, 1, size) for name, item in by_name.items()]
        )

    def _by_name(
        self, entity_type: EntityType, known: Mapping[str, EntitySet], items: Sequence[ExpandItem]
    ) -> Mapping[str, ExpandItem]:
        """The known names that the items expand, each with its item."""
        by_name: dict[str, ExpandItem] = {}
        for item in items:
            for name in self._names(entity_type, known, item):
                earlier = by_name.get(name)
                if earlier is None or earlier.path == _STAR:
                    by_name[name] = item
                elif item.path != _STAR:
                    raise rows.GIVEN_TWICE(EXPAND, item.position, name=name)
        return by_name

    def _names(
        self, entity_type: EntityType, known: Mapping[str, EntitySet], item: ExpandItem
    ) -> Sequence[str]:
        """The names that an item expands; raises `Refusal` (403) for one that is not readable."""
        if item.path == _STAR:
            return [
                name for name, target in known.items() if may_read(target, self.binding.readable)
            ]
        name = _name(entity_type, known, item)
        check_readable(known[name], self.binding.readable, EXPAND, item.position)
        return (name,)

    def _check_single(self, navigation: NavigationProperty, item: ExpandItem) -> None:
        given = [name for name in _FOR_COLLECTIONS if name in item.options.given]
        if item.result == "count":
            given.append("/$count")
        for name in given:
            raise rows.OPTION_OF_RECORD(EXPAND, item.position, option=name, name=navigation.name)

    def _expansion(
        self, name: str, entity_set: EntitySet, item: ExpandItem, depth: int, page_size: int
    ) -> Expansion:
        inner = self._inner(name, entity_set, item, depth)
        if depth > self.limits.depth:
            raise rows.EXPAND_TOO_DEEP(EXPAND, item.position, limit=self.limits.depth)
        self.items += 1
        if self.items > self.limits.items:
            # the parser counts a `*` as one item
            raise rows.EXPAND_TOO_LONG(EXPAND, item.position, limit=self.limits.items)
        options, positions = item.options, item.positions
        for option in _UNSUPPORTED:
            if option in options.given:
                construct = f"{option} within $expand"
                raise rows.NOT_SUPPORTED(EXPAND, positions[option], construct=construct)
        try:
            binding = msgspec.structs.replace(
                self.binding,
                entity_set=entity_set,
                computed=(),
                aliases=options.aliases,
                nested=True,
            )
            page = bind_page(
                binding, options, Bounds(self.company), page_size, by_record=self.by_record
            )
            names = None
            if options.select is not None:
                names = bind_select(
                    entity_set.type, options.select, any_case=binding.dialect.any_case_names
                )
        except Refusal as refusal:
            nested = refusal.target or ""
            if nested not in positions:
                raise
            raise within(refusal, positions[nested]) from None
        related = self.related(entity_set, inner, depth + 1)
        return Expansion(name, entity_set, True, item.result, options, page, names, related)

    def _inner(
        self, name: str, entity_set: EntitySet, item: ExpandItem, depth: int
    ) -> Sequence[ExpandItem]:
        """The nested items; `$levels` nests the item itself."""
        levels, items = item.levels, item.items
        path = item.path if item.path == _STAR else (name,)
        if levels is None or not (path == _STAR or name in entity_set.type.related):
            return items
        left = self.limits.depth - depth + 1 if levels == "max" else levels
        if left > self.limits.depth:
            raise rows.DEEP_LEVELS(EXPAND, item.position, limit=self.limits.depth)
        if left == 1:
            return items
        return (*items, msgspec.structs.replace(item, path=path, levels=left - 1))


def _name(entity_type: EntityType, known: Mapping[str, object], item: ExpandItem) -> str:
    path = _own_path(entity_type, item.path)
    name = path[0]
    check_served(entity_type, name, EXPAND, item.position)
    if len(path) > 1:
        if name not in known:
            raise _no_navigation(entity_type, EXPAND, item.position, path)
        construct = f"The path {'/'.join(path)[:100]}"
        raise rows.NOT_SUPPORTED(EXPAND, item.position, construct=construct)
    if name not in known:
        raise rows.NO_NAVIGATION(
            EXPAND, item.position, known=known, owner=entity_type.name, name=name
        )
    return name


def _own_path(entity_type: EntityType, path: tuple[str, ...]) -> tuple[str, ...]:
    """A path without a cast to the entity type itself."""
    return path[1:] if len(path) > 1 and path[0] == entity_type.qualified_name else path


def _no_navigation(
    entity_type: EntityType,
    option: str,
    position: int,
    path: tuple[str, ...],
    computed: Collection[str] = (),
) -> Refusal:
    """400: a path of several names that does not begin with a navigation property."""
    first = path[0]
    if first in entity_type.by_name or first in computed:
        return rows.PAST_VALUE(option, position, name=first, path="/".join(path))
    if "." in first:
        own = entity_type.qualified_name
        return rows.OTHER_TYPE(option, position, own=own, name=first)
    known = [*entity_type.by_name, *entity_type.related, *computed]
    return rows.NO_PROPERTY(option, position, known=known, owner=entity_type.name, name=first)
