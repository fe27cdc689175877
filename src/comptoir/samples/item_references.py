"""The item references: a bar code for what is packed, the numbers of vendors and customers."""

from collections.abc import Iterator

from comptoir.samples.cells import Row
from comptoir.samples.items import Item, items
from comptoir.samples.world import World, customer_number

COLUMNS = (
    "id",
    "itemNo",
    "variantCode",
    "unitOfMeasure",
    "referenceType",
    "referenceTypeNo",
    "referenceNo",
    "description",
    "description2",
)

_IN_HOUSE_PREFIX = "200"
_VENDORS = 400
_FIRST_VENDOR = 50_000


def rows(world: World) -> Iterator[Row]:
    """The references of each item in turn: at most one of each type."""
    for each in items(world):
        for kind, whose, number in _references(world, each):
            yield (
                world.guid("item reference", f"{each.position} {kind}"),
                each.number,
                "",
                each.product.unit,
                kind,
                whose,
                number,
                each.name(0),
                "",
            )


def _references(world: World, each: Item) -> Iterator[tuple[str, str, str]]:
    """Type, the number of the customer or vendor, the number under which the item is known."""
    dice = world.dice("item references", each.position)
    if not each.product.is_service:
        yield "Bar Code", "", bar_code(each.position)
    if dice.chance(60):
        vendor = f"V{_FIRST_VENDOR + dice.below(_VENDORS)}"
        yield "Vendor", vendor, f"{each.product.prefix[:2]}{dice.between(10_000, 99_999)}"
    if dice.chance(50):
        customer = customer_number(dice.below(world.counts.customers))
        yield "Customer", customer, f"ART-{dice.between(100_000, 999_999)}"


def bar_code(position: int) -> str:
    """An EAN-13 of the range that GS1 leaves to each company, with its check digit."""
    body = f"{_IN_HOUSE_PREFIX}{position + 1:09d}"
    weighed = sum(int(digit) * (3 if at % 2 else 1) for at, digit in enumerate(body))
    return f"{body}{-weighed % 10}"
