"""The sales prices: for everybody, from a quantity on, for a group, a customer, a campaign."""

from collections.abc import Iterator
from itertools import count

from comptoir.samples.cells import Row, amount, flag
from comptoir.samples.customers import PRICE_GROUPS
from comptoir.samples.dice import Dice
from comptoir.samples.items import Item, items
from comptoir.samples.world import World, campaign_number, customer_number

COLUMNS = (
    "entryNo",
    "sourceType",
    "sourceNumber",
    "assetType",
    "assetNumber",
    "variantCode",
    "pricesIncludeTax",
    "unitOfMeasure",
    "quantity",
    "unitPrice",
    "unitCostLCY",
    "lineDiscount",
    "campaignNumber",
)

_PRICES_PER_ITEM = (3, 1, 12, 5, 2, 4, 5, 3, 12, 2, 4, 1, 5, 12, 3, 3, 2, 4, 12, 5)
"""By position, over and over: most items have one to five, best-sellers many, on average 5."""

_QUANTITIES = (0, 5, 10, 20, 25, 50, 100, 150, 200, 250, 500, 1_000)
_SOURCES = (
    "All Customers",
    "All Customers",
    "Customer Price Group",
    "Customer",
    "Campaign",
    "Customer",
)
_LINE_DISCOUNTS = ("0", "0", "0", "2.5", "5", "7.5", "10")
_OFF_PER_STEP = 15
"""Each further price of an item is lower by so many thousandths."""


def rows(world: World) -> Iterator[Row]:
    """The prices of each item in turn, the one for everybody first."""
    entries = count(1)
    for each in items(world):
        dice = world.dice("sales prices", each.position)
        cost = each.cents * dice.between(450, 700)
        first = dice.below(world.counts.customers * world.counts.campaigns)
        for step in range(_PRICES_PER_ITEM[each.position % len(_PRICES_PER_ITEM)]):
            yield _price(world, next(entries), each, step, first + step, amount(cost), dice)


def _price(
    world: World, entry: int, each: Item, step: int, chosen: int, cost: str, dice: Dice
) -> Row:
    source_type = _SOURCES[step % len(_SOURCES)]
    source = _source(world, source_type, chosen)
    open_to_many = source_type in ("All Customers", "Customer Price Group")
    return (
        str(entry),
        source_type,
        source,
        "Item",
        each.number,
        "",
        flag(source == "RETAIL"),
        each.product.unit,
        str(_QUANTITIES[step] if open_to_many else 0),
        amount(each.cents * (1_000 - _OFF_PER_STEP * step)),
        cost,
        dice.pick(_LINE_DISCOUNTS) if source_type == "Customer" else "0",
        source if source_type == "Campaign" else "",
    )


def _source(world: World, source_type: str, chosen: int) -> str:
    """Whose price it is; prices of one item that follow one another are of different ones."""
    match source_type:
        case "Customer Price Group":
            return PRICE_GROUPS[chosen % len(PRICE_GROUPS)]
        case "Customer":
            return customer_number(chosen % world.counts.customers)
        case "Campaign":
            return campaign_number(chosen % world.counts.campaigns)
        case _:
            return ""
