"""The item translations: each item in one to three of the languages."""

from collections.abc import Iterator

from comptoir.samples.cells import Row
from comptoir.samples.items import items
from comptoir.samples.languages import LANGUAGES
from comptoir.samples.world import World

COLUMNS = ("id", "itemNo", "languageCode", "description", "description2", "variantCode")

_LANGUAGES_PER_ITEM = (2, 1, 3, 2)


def rows(world: World) -> Iterator[Row]:
    """The translations of each item in turn, in languages that follow one another."""
    for each in items(world):
        dice = world.dice("item translations", each.position)
        first = dice.below(len(LANGUAGES))
        for offset in range(_LANGUAGES_PER_ITEM[each.position % len(_LANGUAGES_PER_ITEM)]):
            at = (first + offset) % len(LANGUAGES)
            code = LANGUAGES[at].code
            key = world.guid("item translation", f"{each.position} {code}")
            yield key, each.number, code, each.description(at), "", ""
