"""The items: a product in a series, a material, a color and a size, and all that follows."""

from collections.abc import Iterator
from typing import NamedTuple

from comptoir.samples.cells import Row, past_moment
from comptoir.samples.languages import LANGUAGES, Words
from comptoir.samples.products import COLOURS, PRODUCTS, Product
from comptoir.samples.world import World

COLUMNS = ("id", "number", "displayName", "baseUnitOfMeasureCode", "lastModifiedDateTime")

_FIRST_NUMBER = 1_000
_CENTS = 100
_PRICE_ENDINGS = (0, 50, 90, 95)
_SERIES_STARTS = (
    "Al", "Bel", "Cor", "Dal", "El", "Fen", "Gal", "Hal", "Is", "Kal",
    "Lin", "Mar", "Nor", "Or", "Pel", "Ros", "Sel", "Tor", "Ul", "Ver",
)  # fmt: skip
_SERIES_ENDS = (
    "ba", "dena", "dis", "fara", "ga", "kka", "lanta", "mira", "na", "nova",
    "ora", "pina", "ra", "sa", "sten", "tea", "tis", "vara", "vik", "zo",
)  # fmt: skip


class Item(NamedTuple):
    """An item: its place in the catalogue, its traits, and its price without discounts.

    `colour` and `material` are None and `size` is empty where the product has none.
    """

    position: int
    number: str
    product: Product
    series: str
    material: Words | None
    colour: Words | None
    size: str
    cents: int

    def name(self, language: int) -> str:
        """Product and series in a language, by its place among the languages."""
        return f"{self.product.names[language]} {self.series}"

    def description(self, language: int) -> str:
        """Name, material, color and size in a language, by its place among the languages."""
        parts = [self.name(language)]
        if self.material:
            parts.append(self.material[language])
        if self.colour:
            parts.append(self.colour[language])
        if self.size:
            parts.append(self.size)
        return LANGUAGES[language].joins.join(parts)


def item(world: World, position: int) -> Item:
    """The item at a position."""
    dice = world.dice("item", position)
    product = dice.pick(PRODUCTS)
    euros = dice.between(product.cheapest, product.dearest)
    return Item(
        position=position,
        number=f"{product.prefix}-{_FIRST_NUMBER + position}",
        product=product,
        series=dice.pick(_SERIES_STARTS) + dice.pick(_SERIES_ENDS),
        material=dice.pick(product.materials) if product.materials else None,
        colour=dice.pick(COLOURS) if product.coloured else None,
        size=dice.pick(product.sizes) if product.sizes else "",
        cents=euros * _CENTS + dice.pick(_PRICE_ENDINGS),
    )


def items(world: World) -> Iterator[Item]:
    """Every item, for the kinds whose records describe items."""
    return (item(world, position) for position in range(world.counts.items))


def rows(world: World) -> Iterator[Row]:
    """Every item as a record."""
    for each in items(world):
        yield (
            world.guid("item", each.position),
            each.number,
            each.description(0),
            each.product.unit,
            past_moment(world.dice("item change", each.position)),
        )
