"""Models of catalogs that tests write."""

from pathlib import Path

from comptoir.catalog import read_catalog
from comptoir.edm.model import Model


def model_of(folder: Path, text: str) -> Model:
    """The model that a file with this text declares."""
    file = folder / f"{len(text)}.toml"
    file.write_text(text, encoding="utf-8")
    return read_catalog(file)


COURIERS = """comptoir = 1
base = "built-in"

[sets.itemsExt.properties]
courierCode = "String(20)"

[sets.couriers]
type = "courier"
unique = [["code"]]
properties = { id = "Guid", code = "String(20)", name = "String(100)" }

[sets.couriers.navigation]
items = { to = "itemsExt[]", on = { code = "courierCode" } }
"""
"""A catalog that adds a set and a property to the built-in one."""
