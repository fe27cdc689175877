"""The item attributes, and the values that items carry of them."""

from collections.abc import Iterator

from comptoir.samples.cells import Row
from comptoir.samples.dice import Dice
from comptoir.samples.items import Item, items
from comptoir.samples.world import World

COLUMNS = ("id", "attributeId", "name", "unitOfMeasure")
VALUE_COLUMNS = ("id", "itemNo", "attributeName", "value")

_ATTRIBUTES = (
    ("Color", ""),
    ("Size", ""),
    ("Material", ""),
    ("Series", ""),
    ("Model Year", ""),
    ("Country of Origin", ""),
    ("Warranty", "MONTH"),
)
_ORIGINS = ("Denmark", "Germany", "Italy", "Poland", "Portugal", "Sweden", "Thailand", "Türkiye")
_WARRANTIES = ("12", "24", "24", "36", "60")


def rows(world: World) -> Iterator[Row]:
    """Every attribute, numbered from 1; the same at every size."""
    for position, (name, unit) in enumerate(_ATTRIBUTES):
        yield world.guid("item attribute", position), str(position + 1), name, unit


def value_rows(world: World) -> Iterator[Row]:
    """What each item carries: its own traits, and some facts about where it comes from."""
    for each in items(world):
        dice = world.dice("item facts", each.position)
        for name, value in _traits(each, dice):
            key = world.guid("item attribute value", f"{each.position} {name}")
            yield key, each.number, name, value


def _traits(each: Item, dice: Dice) -> Iterator[tuple[str, str]]:
    if each.colour:
        yield "Color", each.colour[0].capitalize()
    if each.size:
        yield "Size", each.size
    if each.material:
        yield "Material", each.material[0].capitalize()
    yield "Series", each.series
    if not each.product.is_service and dice.chance(80):
        yield "Country of Origin", dice.pick(_ORIGINS)
    if each.product.unit == "PCS":
        yield "Model Year", str(dice.between(2019, 2026))
        if dice.chance(60):
            yield "Warranty", dice.pick(_WARRANTIES)
