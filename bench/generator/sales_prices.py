"""The sales prices: for all customers, price groups, customers and campaigns."""

from collections.abc import Iterator
from itertools import count

from generator.blueprint import Blueprint, Table, campaign_number, customer_number
from generator.customers import PRICE_GROUPS
from generator.items import Item, items
from generator.values import Dice, Row, amount, flag

_COLUMNS = (
    "entryNo", "sourceType", "sourceNumber", "assetType", "assetNumber", "variantCode",
    "pricesIncludeTax", "unitOfMeasure", "quantity", "unitPrice", "unitCostLCY", "lineDiscount",
    "campaignNumber",
)  # fmt: skip

_PRICES_PER_ITEM = (3, 1, 12, 5, 2, 4, 5, 3, 12, 2, 4, 1, 5, 12, 3, 3, 2, 4, 12, 5)
"""Repeated by position: most items have one to five prices, best-sellers 12, on average 5."""

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
_DISCOUNT_PER_STEP = 15
"""Thousandths by which the price of an item decreases with each further price."""


def _rows(source: Blueprint) -> Iterator[Row]:
    """The prices of each item in turn; the first is for all customers."""
    entries = count(1)
    for each in items(source):
        dice = source.dice("sales prices", each.position)
        cost = each.cents * dice.between(450, 700)
        first = dice.below(source.counts.customers * source.counts.campaigns)
        for step in range(_PRICES_PER_ITEM[each.position % len(_PRICES_PER_ITEM)]):
            yield _price(source, next(entries), each, step, first + step, amount(cost), dice)


def _price(
    source: Blueprint, entry: int, each: Item, step: int, chosen: int, cost: str, dice: Dice
) -> Row:
    source_type = _SOURCES[step % len(_SOURCES)]
    number = _source_number(source, source_type, chosen)
    open_to_many = source_type in ("All Customers", "Customer Price Group")
    return (
        str(entry),
        source_type,
        number,
        "Item",
        each.number,
        "",
        flag(number == "RETAIL"),
        each.product.unit,
        str(_QUANTITIES[step] if open_to_many else 0),
        amount(each.cents * (1_000 - _DISCOUNT_PER_STEP * step)),
        cost,
        dice.pick(_LINE_DISCOUNTS) if source_type == "Customer" else "0",
        number if source_type == "Campaign" else "",
    )


def _source_number(source: Blueprint, source_type: str, chosen: int) -> str:
    """The number of the price's customer, group or campaign, different for consecutive prices."""
    match source_type:
        case "Customer Price Group":
            return PRICE_GROUPS[chosen % len(PRICE_GROUPS)]
        case "Customer":
            return customer_number(chosen % source.counts.customers)
        case "Campaign":
            return campaign_number(chosen % source.counts.campaigns)
        case _:
            return ""


SALES_PRICES = Table("salesPricesExt", _COLUMNS, _rows)
