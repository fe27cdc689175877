"""A catalog with contained records, checked references and actions."""

from pathlib import Path

from comptoir.catalog import read_catalog
from comptoir.edm.model import Model

ORDERS = """comptoir = 1

[sets.terms]
type = "term"
properties = { id = "Guid", code = "String(10)" }
unique = [["code"]]

[sets.orders]
type = "order"

[sets.orders.properties]
id = "Guid"
number = "String(20)"
status = "Status"
confirmed = "Boolean"
termId = "Guid"
termCode = "String(10)"
changedAt = { type = "DateTimeOffset", modified_at = true }

[enums]
Status = ["Draft", "Released"]

[sets.orders.navigation]
lines = { to = "lines[]", on = { id = "orderId" }, contained = true }
others = { to = "lines[]", on = { id = "orderId" } }
notes = { to = "notes[]", on = { number = "of" }, only = { kind = "Order" }, contained = true }
term = { to = "terms", on = { termId = "id" }, check = true }
termOfCode = { to = "terms", on = { termCode = "code" }, check = true }

[sets.orders.actions]
release = { change = { status = "Released", confirmed = true } }
post = {}

[sets.lines]
type = "line"
indexes = [["orderId"]]

[sets.lines.properties]
id = "Guid"
orderId = { type = "Guid", required = true }
text = "String(50)"

[sets.lines.navigation]
order = { to = "orders", on = { orderId = "id" } }
parts = { to = "parts[]", on = { id = "lineId" }, contained = true }

[sets.parts]
type = "part"
indexes = [["lineId"]]
properties = { id = "Guid", lineId = "Guid" }

[sets.notes]
type = "note"
properties = { id = "Guid", of = "String(20)", kind = "String(10)" }

[sets.orders.business_central]
table = 36
caption = "Sales Header"
properties = { number = { caption = "No." } }
"""


def read_orders(folder: Path, old: str = "", new: str = "") -> Model:
    """The model, with one text of the file replaced by another."""
    file = folder / "orders.toml"
    file.write_text(ORDERS.replace(old, new) if old else ORDERS, encoding="utf-8")
    return read_catalog(file)
