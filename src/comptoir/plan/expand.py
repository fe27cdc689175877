"""`$expand` bound to a kind (OData URL Conventions 4.01, section 5.1.3)."""

from collections.abc import Sequence

import msgspec

from comptoir.edm.entity import NavigationProperty
from comptoir.edm.model import EntitySet, Model
from comptoir.errors import Refusal
from comptoir.plan.expressions.grounds import AliasTexts, Grounds
from comptoir.plan.faults import misused, unknown_name, unsupported
from comptoir.plan.pages import Page, bind_page
from comptoir.plan.select import astray, bind_select, own_path
from comptoir.plan.target import Company
from comptoir.request.expand import (
    EXPAND,
    ExpandItem,
    ExpandKind,
    OptionText,
    within,
)
from comptoir.request.expression import ExpressionLimits
from comptoir.request.options import QueryOptions

_STAR = ("*",)
"""Stands for every navigation property that has no item of its own."""

_OF_MANY = ("$filter", "$search", "$orderby", "$top", "$skip", "$count")


class Expansion(msgspec.Struct, frozen=True):
    """Related records that stand within a record.

    `kind` is `entities`, `ref` or `count`; `page` says which related records, in which order;
    `names` are the properties to show, None for all; `inner` stands within the related records.
    """

    navigation: NavigationProperty
    entity_set: EntitySet
    kind: ExpandKind
    options: QueryOptions
    page: Page
    names: frozenset[str] | None
    inner: tuple["Expansion", ...]


class ExpandBinder:
    """Binds the items of `$expand`, nested ones included."""

    def __init__(
        self,
        model: Model,
        company: Company | None,
        limits: ExpressionLimits,
        *,
        depth: int,
        page_size: int,
        aliases: AliasTexts = (),
    ) -> None:
        self._model = model
        self._company = company
        self._limits = limits
        self._depth = depth
        self._page_size = page_size
        self._aliases = aliases

    def bind(
        self, entity_set: EntitySet, items: Sequence[ExpandItem], depth: int = 1
    ) -> tuple[Expansion, ...]:
        """The expansions of a set's records that the items ask for.

        Raises `Refusal`: 400 for what does not fit the kind, comes twice, or nests deeper than the
        limit, 501 for what is not supported.
        """
        meant: dict[str, tuple[NavigationProperty, ExpandItem]] = {}
        for item in items:
            for navigation in self._navigations(entity_set, item):
                earlier = meant.get(navigation.name)
                if earlier is None or earlier[1].path == _STAR:
                    meant[navigation.name] = navigation, item
                elif item.path != _STAR:
                    message = f"{navigation.name} is expanded twice. Write it once."
                    raise misused(EXPAND, item.position, message)
        return tuple([self._bound(*each, depth) for each in meant.values()])

    def _navigations(self, entity_set: EntitySet, item: ExpandItem) -> Sequence[NavigationProperty]:
        kind = entity_set.type
        if item.path == _STAR:
            return kind.navigation
        path = own_path(kind, item.path)
        if len(path) > 1:
            if path[0] not in kind.related:
                raise astray(kind, EXPAND, item.position, path)
            raise unsupported(EXPAND, item.position, f"the path {'/'.join(path)[:100]}")
        navigation = kind.related.get(path[0])
        if navigation is None:
            what = f"navigation property of {kind.name}"
            raise unknown_name(EXPAND, item.position, path[0], what, kind.related)
        if not navigation.collection:
            self._check_single(navigation, item)
        return (navigation,)

    def _check_single(self, navigation: NavigationProperty, item: ExpandItem) -> None:
        given = [name for name in _OF_MANY if getattr(item.options, name[1:]) is not None]
        if item.kind == "count":
            given.append("/$count")
        for name in given:
            raise misused(
                EXPAND,
                item.position,
                f"{name} applies to many records, and {navigation.name} is one. Leave it out.",
            )

    def _bound(self, navigation: NavigationProperty, item: ExpandItem, depth: int) -> Expansion:
        if depth > self._depth:
            raise misused(
                EXPAND,
                item.position,
                f"{navigation.name} is nested deeper than {self._depth}. Follow the navigation in "
                "requests of its own.",
            )
        for name in ("compute", "apply"):
            nested: OptionText | None = getattr(item.options, name)
            if nested is not None:
                raise unsupported(EXPAND, nested.position, f"${name} within $expand")
        entity_set = self._model.by_name[navigation.target]
        options = item.options.as_query(self._aliases)
        try:
            page = bind_page(
                Grounds(self._model, entity_set, self._limits, aliases=self._aliases, nested=True),
                self._company,
                options,
                keys=None,
                page_size=self._page_size,
            )
            names = None
            if options.select is not None:
                names = bind_select(entity_set.type, options.select)
        except Refusal as refusal:
            name = refusal.target or ""
            where: OptionText | None = getattr(item.options, name.removeprefix("$"), None)
            raise (refusal if where is None else within(refusal, name, where)) from None
        inner = self.bind(entity_set, self._inner(navigation, entity_set, item), depth + 1)
        return Expansion(navigation, entity_set, item.kind, options, page, names, inner)

    def _inner(
        self, navigation: NavigationProperty, entity_set: EntitySet, item: ExpandItem
    ) -> Sequence[ExpandItem]:
        """What is expanded in the related records: what the item says, and itself by `$levels`."""
        levels = item.options.levels
        items = item.options.expand
        goes_on = navigation.name in entity_set.type.related
        if levels is None or not goes_on:
            return items
        left = self._depth if levels == "max" else levels
        if left > self._depth:
            raise misused(
                EXPAND, item.position, f"$levels goes deeper than {self._depth}. Send a lower one."
            )
        if left == 1:
            return items
        options = msgspec.structs.replace(item.options, levels=left - 1)
        return (*items, msgspec.structs.replace(item, path=(navigation.name,), options=options))
