"""`$expand` bound to a kind (OData URL Conventions 4.01, section 5.1.3)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import msgspec
from typing_extensions import override

from comptoir.edm.model import Company, EntitySet, EntityType, Model, NavigationProperty
from comptoir.errors import Refusal
from comptoir.plan.expressions.binding_context import BindingContext
from comptoir.plan.faults import misused, unknown_name, unsupported
from comptoir.plan.pages import Page, bind_page
from comptoir.plan.read import Bounds
from comptoir.plan.select import astray, bind_select, own_path
from comptoir.request.expand import EXPAND, ExpandItem, ExpandKind, within
from comptoir.request.expression import ExpressionLimits
from comptoir.request.options import QueryOptions

_STAR = ("*",)
"""The path of an item for every navigation property that has no item of its own."""

_UNSUPPORTED = ("$compute", "$apply")
_OF_MANY = ("$filter", "$search", "$orderby", "$top", "$skip", "$count")


class Expansion(msgspec.Struct, frozen=True):
    """Records of a set within another record: as such, those that a company contains.

    `kind` is `entities`, `ref` or `count`; `page` says which records, in which order; `names` are
    the properties to show, None for all; `inner` is expanded within the records.
    """

    entity_set: EntitySet
    kind: ExpandKind
    options: QueryOptions
    page: Page
    names: frozenset[str] | None
    inner: tuple["RelatedExpansion", ...]

    @property
    def name(self) -> str:
        """The name of the field that holds the records."""
        return self.entity_set.name

    @property
    def collection(self) -> bool:
        """Whether the field holds any number of records, not one or none."""
        return True

    @property
    def segments(self) -> str:
        """The path from the other record to the list of these."""
        return f"{self.name}/$ref" if self.kind == "ref" else self.name

    def of_company(self, company: Company) -> Self:
        """The same expansion of one company's records."""
        inner = tuple([each.of_company(company) for each in self.inner])
        return msgspec.structs.replace(self, page=self.page.of_company(company), inner=inner)


class RelatedExpansion(Expansion, frozen=True):
    """The records to which a navigation property leads from another record."""

    navigation: NavigationProperty

    @property
    @override
    def name(self) -> str:
        return self.navigation.name

    @property
    @override
    def collection(self) -> bool:
        return self.navigation.collection


class ExpandBinder:
    """Binds the items of one `$expand`, nested ones included: `items` at most, `depth` levels."""

    def __init__(
        self,
        model: Model,
        company: Company | None,
        limits: ExpressionLimits,
        *,
        items: int,
        depth: int,
        page_size: int,
    ) -> None:
        self._model = model
        self._company = company
        self._limits = limits
        self._items = items
        self._bound_items = 0
        self._depth = depth
        self._page_size = page_size

    def related(
        self, entity_set: EntitySet, items: Sequence[ExpandItem], depth: int = 1
    ) -> tuple[RelatedExpansion, ...]:
        """The related records of a set's records that the items ask for.

        Raises `Refusal`: 400 for what does not fit the kind, comes twice, or nests deeper than the
        limit, 501 for what is not supported.
        """
        found: list[RelatedExpansion] = []
        kind = entity_set.type
        for name, item in _meant(kind, kind.related, items).items():
            navigation = kind.related[name]
            if not navigation.collection:
                self._check_single(navigation, item)
            target = self._model.by_name[navigation.target]
            inner = self._nested(name, target, item, depth)
            held = self._bound(name, target, item, inner, depth, self._page_size)
            found.append(
                RelatedExpansion(
                    held.entity_set,
                    held.kind,
                    held.options,
                    held.page,
                    held.names,
                    held.inner,
                    navigation,
                )
            )
        return tuple(found)

    def contained(
        self, entity_set: EntitySet, items: Sequence[ExpandItem], most: int
    ) -> tuple[Expansion, ...]:
        """The records that each record of a set contains, at most `most`, as the items ask for.

        Raises `Refusal` as `related` does.
        """
        sets = self._model.contained(entity_set)
        meant = _meant(entity_set.type, sets, items)
        size = max(1, min(self._page_size, most // max(1, len(meant))))
        return tuple(
            [
                self._bound(
                    name, sets[name], item, self._nested(name, sets[name], item, 1), 1, size
                )
                for name, item in meant.items()
            ]
        )

    def _check_single(self, navigation: NavigationProperty, item: ExpandItem) -> None:
        given = [name for name in _OF_MANY if name in item.options.given]
        if item.kind == "count":
            given.append("/$count")
        for name in given:
            raise misused(
                EXPAND,
                item.position,
                f"{name} applies to many records, and {navigation.name} is one. Leave it out.",
            )

    def _bound(
        self,
        name: str,
        entity_set: EntitySet,
        item: ExpandItem,
        inner: Sequence[ExpandItem],
        depth: int,
        page_size: int,
    ) -> Expansion:
        if depth > self._depth:
            raise misused(
                EXPAND,
                item.position,
                f"{name} is nested deeper than {self._depth}. Follow the navigation in "
                "requests of its own.",
            )
        self._bound_items += 1
        if self._bound_items > self._items:
            # the parser counts a `*` as one item
            message = f"there are more than {self._items} items. Expand less at once."
            raise misused(EXPAND, item.position, message)
        options, positions = item.options, item.positions.options
        for option in _UNSUPPORTED:
            if option in options.given:
                raise unsupported(EXPAND, positions[option], f"{option} within $expand")
        try:
            page = bind_page(
                BindingContext(
                    self._model, entity_set, self._limits, aliases=options.aliases, nested=True
                ),
                options,
                Bounds(self._company),
                page_size,
            )
            shown = None
            if options.select is not None:
                shown = bind_select(entity_set.type, options.select)
        except Refusal as refusal:
            nested = refusal.target or ""
            if nested not in positions:
                raise
            raise within(refusal, positions[nested]) from None
        related = self.related(entity_set, inner, depth + 1)
        return Expansion(entity_set, item.kind, options, page, shown, related)

    def _nested(
        self, name: str, entity_set: EntitySet, item: ExpandItem, depth: int
    ) -> Sequence[ExpandItem]:
        """The nested items, and by `$levels` the item itself."""
        levels, items = item.levels, item.items
        path = item.path if item.path == _STAR else (name,)
        if levels is None or not (path == _STAR or name in entity_set.type.related):
            return items
        left = self._depth - depth + 1 if levels == "max" else levels
        if left > self._depth:
            raise misused(
                EXPAND, item.position, f"$levels goes deeper than {self._depth}. Send a lower one."
            )
        if left == 1:
            return items
        return (*items, msgspec.structs.replace(item, path=path, levels=left - 1))


def _meant(
    kind: EntityType, known: Mapping[str, object], items: Sequence[ExpandItem]
) -> Mapping[str, ExpandItem]:
    """The known names that items of `$expand` mean, each with its item."""
    meant: dict[str, ExpandItem] = {}
    for item in items:
        names: Iterable[str] = known if item.path == _STAR else (_name(kind, known, item),)
        for name in names:
            earlier = meant.get(name)
            if earlier is None or earlier.path == _STAR:
                meant[name] = item
            elif item.path != _STAR:
                raise misused(EXPAND, item.position, f"{name} is expanded twice. Write it once.")
    return meant


def _name(kind: EntityType, known: Mapping[str, object], item: ExpandItem) -> str:
    path = own_path(kind, item.path)
    if len(path) > 1:
        if path[0] not in known:
            raise astray(kind, EXPAND, item.position, path)
        raise unsupported(EXPAND, item.position, f"the path {'/'.join(path)[:100]}")
    if path[0] not in known:
        what = f"navigation property of {kind.name}"
        raise unknown_name(EXPAND, item.position, path[0], what, known)
    return path[0]
