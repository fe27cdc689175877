"""The items, their attributes and their references.

An item is a product in a series, with a material, a color and a size.
"""

from collections.abc import Iterator
from typing import NamedTuple

from generator.blueprint import Blueprint, Table, customer_number
from generator.products import COLOURS, LANGUAGES, PRODUCTS, Product, Words
from generator.values import Dice, Row, past_instant

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

_IN_HOUSE_PREFIX = "200"
_VENDORS = 400
_FIRST_VENDOR = 50_000


class Item(NamedTuple):
    """An item, with its price without discounts.

    `colour` and `material` are None and `size` is empty if the product has none.
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
        """Product and series in a language, by its index in `LANGUAGES`."""
        return f"{self.product.names[language]} {self.series}"

    def description(self, language: int) -> str:
        """Name, material, color and size in a language, by its index in `LANGUAGES`."""
        parts = [self.name(language)]
        if self.material:
            parts.append(self.material[language])
        if self.colour:
            parts.append(self.colour[language])
        if self.size:
            parts.append(self.size)
        return LANGUAGES[language].joins.join(parts)


def item(source: Blueprint, position: int) -> Item:
    """The item at a position."""
    dice = source.dice("item", position)
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


def items(source: Blueprint) -> Iterator[Item]:
    """All items."""
    return (item(source, position) for position in range(source.counts.items))


def _items(source: Blueprint) -> Iterator[Row]:
    for each in items(source):
        yield (
            source.guid("item", each.position),
            each.number,
            each.description(0),
            each.product.unit,
            past_instant(source.dice("item change", each.position)),
        )


def _attributes(source: Blueprint) -> Iterator[Row]:
    for position, (name, unit) in enumerate(_ATTRIBUTES):
        yield source.guid("item attribute", position), str(position + 1), name, unit


def _attribute_values(source: Blueprint) -> Iterator[Row]:
    for each in items(source):
        dice = source.dice("item facts", each.position)
        for name, value in _traits(each, dice):
            key = source.guid("item attribute value", f"{each.position} {name}")
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


def _item_references(source: Blueprint) -> Iterator[Row]:
    """The references of each item in turn, at most one of each type."""
    for each in items(source):
        for reference_type, owner, number in _references(source, each):
            yield (
                source.guid("item reference", f"{each.position} {reference_type}"),
                each.number,
                "",
                each.product.unit,
                reference_type,
                owner,
                number,
                each.name(0),
                "",
            )


def _references(source: Blueprint, each: Item) -> Iterator[tuple[str, str, str]]:
    """Type, number of the customer or vendor, and their number for the item."""
    dice = source.dice("item references", each.position)
    if not each.product.is_service:
        yield "Bar Code", "", bar_code(each.position)
    if dice.chance(60):
        vendor = f"V{_FIRST_VENDOR + dice.below(_VENDORS)}"
        yield "Vendor", vendor, f"{each.product.prefix[:2]}{dice.between(10_000, 99_999)}"
    if dice.chance(50):
        customer = customer_number(dice.below(source.counts.customers))
        yield "Customer", customer, f"ART-{dice.between(100_000, 999_999)}"


def bar_code(position: int) -> str:
    """An EAN-13 in the range that GS1 reserves for use within a company, with its check digit."""
    body = f"{_IN_HOUSE_PREFIX}{position + 1:09d}"
    weighed = sum(int(digit) * (3 if at % 2 else 1) for at, digit in enumerate(body))
    return f"{body}{-weighed % 10}"


ITEMS = Table(
    "itemsExt",
    ("id", "number", "displayName", "baseUnitOfMeasureCode", "lastModifiedDateTime"),
    _items,
)
ATTRIBUTES = Table("itemAttributesExt", ("id", "attributeId", "name", "unitOfMeasure"), _attributes)
ATTRIBUTE_VALUES = Table(
    "itemAttributeValuesExt", ("id", "itemNo", "attributeName", "value"), _attribute_values
)
REFERENCES = Table(
    "itemReferencesExt",
    (
        "id", "itemNo", "variantCode", "unitOfMeasure", "referenceType", "referenceTypeNo",
        "referenceNo", "description", "description2",
    ),
    _item_references,
)  # fmt: skip
