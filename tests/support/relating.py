"""A model whose entity sets relate to others in every way: also to one record of another set."""

from collections.abc import Mapping
from dataclasses import replace

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet, NavigationProperty

OF_ITEMS: Mapping[str, str] = {
    "itemReferencesExt": "itemNo",
    "itemTranslationsExt": "itemNo",
    "salesPricesExt": "assetNumber",
}
"""The sets whose records lead to one item each, by the navigation property `item`."""


def _relating(entity_set: EntitySet) -> EntitySet:
    number = OF_ITEMS.get(entity_set.name)
    if number is None:
        return entity_set
    item = NavigationProperty("item", "itemsExt", (number, "number"), collection=False)
    navigation = (*entity_set.type.navigation, item)
    return replace(entity_set, type=replace(entity_set.type, navigation=navigation))


RELATING = replace(MODEL, sets=tuple([_relating(each) for each in MODEL.sets]))
