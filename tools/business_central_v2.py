"""Generate the catalog of Business Central's API v2.0 from the published reference of that API.

Usage: python tools/business_central_v2.py CHECKOUT

CHECKOUT is a clone of MicrosoftDocs/dynamics365smb-devitpro-pb, with or without a work tree. Names,
types, enumerations, relations and actions are taken from it, and no sentences. It ends with the
counts of the reference and of the catalog on standard error.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_FOLDER = "dev-itpro/api-reference/v2.0/resources/"
_TARGET = Path(__file__).parents[1] / "src/comptoir/catalog/business-central-v2.toml"

_SERVED_OTHERWISE = ("company", "subscriptions")
"""The resources that belong to the service."""

_SETS = {"salespersonPurchaser": "salespeoplePurchasers"}
"""The sets for which the page of companies has another name than the pages of their requests."""

_TYPES = {
    "GUID": "Guid",
    "string": "String",
    "decimal": "Decimal(18,5)",
    "datetime": "DateTimeOffset",
    "boolean": "Boolean",
    "date": "Date",
    "integer": "Int32",
    "stream": "Stream",
}
_ENUM = "NAV."
"""What the names of enumerations begin with."""

_LENGTHS = {
    "AddressLine1": 100,
    "AddressLine2": 50,
    "City": 30,
    "Code": 20,
    "Country": 10,
    "Description": 100,
    "Description2": 50,
    "DisplayName": 100,
    "DocumentNumber": 35,
    "Email": 80,
    "FileName": 250,
    "Name": 100,
    "Number": 35,
    "PhoneNumber": 30,
    "PostCode": 20,
    "PostalCode": 20,
    "PrinterName": 250,
    "SerialNumber": 50,
    "State": 30,
    "TaxRegistrationNumber": 20,
    "Website": 255,
}
"""The most characters of texts, by the ends of their names; the longest end that fits counts."""

_STAMPS = ("lastModifiedDateTime", "lastModfiedDateTime")
"""The times of the last change; the second one in the spelling of the reference."""

_ENUMS: Mapping[str, tuple[str, ...]] = {
    "analysisSourceType": (" ", "Customer", "Vendor", "Item"),
    "approvalDocumentType": (
        "Quote",
        "Order",
        "Invoice",
        "Credit Memo",
        "Blanket Order",
        "Return Order",
        " ",
    ),
    "approvalStatus": ("Created", "Open", "Canceled", "Rejected", "Approved", " "),
    "countryRegionAddressFormat": (
        "Post Code+City",
        "City+Post Code",
        "City+County+Post Code",
        "Blank Line+Post Code+City",
        "City+County+New Line+Post Code",
        "Post Code+City+County",
        "Custom",
    ),
    "defaultDimensionValuePostingType": (" ", "Code Mandatory", "Same Code", "No Code"),
    "invoiceLineAggLineType": ("Comment", "Account", "Item", "Resource", "Fixed Asset", "Charge"),
    "itemLedgerDocumentType": (
        " ",
        "Sales Shipment",
        "Sales Invoice",
        "Sales Return Receipt",
        "Sales Credit Memo",
        "Purchase Receipt",
        "Purchase Invoice",
        "Purchase Return Shipment",
        "Purchase Credit Memo",
        "Transfer Shipment",
        "Transfer Receipt",
        "Service Shipment",
        "Service Invoice",
        "Service Credit Memo",
        "Posted Assembly",
        "Inventory Receipt",
        "Inventory Shipment",
        "Direct Transfer",
    ),
    "itemLedgerEntryType": (
        "Purchase",
        "Sale",
        "Positive Adjmt.",
        "Negative Adjmt.",
        "Transfer",
        "Consumption",
        "Output",
        " ",
        "Assembly Consumption",
        "Assembly Output",
    ),
    "jobQueuePriority": ("Normal", "High", "Low"),
    "jobQueueReportOutputType": ("PDF", "Word", "Excel", "Print", "None (Processing only)"),
    "opportunityStatus": ("Not Started", "In Progress", "Won", "Lost"),
    "purchCrMemoEntityStatus": (
        " ",
        "Draft",
        "In Review",
        "Open",
        "Canceled",
        "Corrective",
        "Paid",
    ),
    "workflowApprovalLimitType": (
        "Approval Limits",
        "Credit Limits",
        "Request Limits",
        "No Limits",
        " ",
    ),
    "workflowApprovalType": ("Workflow User Group", "Sales Pers./Purchaser", "Approver", " "),
    "workflowApproverLimitType": (
        "Approver Chain",
        "Direct Approver",
        "First Qualified Approver",
        "Specific Approver",
    ),
    "workflowApproverType": ("Salesperson/Purchaser", "Approver", "Workflow User Group"),
}
"""The enumerations whose members the reference does not list, or not one by one.

The members are those of Microsoft's application, whose source is public (microsoft/BCApps).
"""

_ENUMS_OF_BASE = ("contactBusinessRelation", "contactType", "customerBlocked")
"""The enumerations that the base declares."""

_TELLING = (
    *("entryNumber", "displayName", "name", "customerNumber", "customerName", "vendorNumber"),
    *("vendorName", "itemNumber", "accountNumber", "lineType", "lineObjectNumber", "description"),
    *(
        "documentNumber",
        "orderDate",
        "invoiceDate",
        "creditMemoDate",
        "documentDate",
        "startingDate",
    ),
    *("dueDate", "validUntilDate", "quantity", "inventory", "baseUnitOfMeasureCode", "unitPrice"),
    *("amount", "debitAmount", "creditAmount", "amountIncludingTax", "totalAmountIncludingTax"),
    *(
        "balance",
        "balanceDue",
        "netChange",
        "status",
        "jobTitle",
        "category",
        "postingDate",
        "city",
    ),
    *("phoneNumber", "email", "currencyCode", "blocked"),
)
"""The properties that lists show, the most telling first."""

_COLUMNS = 8
"""The most columns of a list."""

_DETAILS = ("customerFinancialDetail", "dimensionSetLine", "dimensionValue", "itemVariant")
"""The types whose code or number is not theirs alone."""

_CHANGES = {
    "cancel": 'status = "Canceled"',
    "cancelAndSend": 'status = "Canceled"',
    "post": 'status = "Open"',
    "postAndSend": 'status = "Open"',
    "receiveAndInvoice": "fullyReceived = true",
    "restart": 'status = "Ready"',
    "send": 'status = "Sent"',
    "shipAndInvoice": "fullyShipped = true",
}
"""What bound actions change, if the property has that value.

The other actions create records or send mail, which is not served.
"""

_OF_BASE = {
    "contactsExt": "contactExt",
    "customersExt": "customerExt",
    "itemsExt": "itemExt",
    "unitsOfMeasureExt": "unitOfMeasureExt",
}
"""The sets of the base whose types have other names beside those of the API v2.0."""

_HEAD = """\
# Business Central's API v2.0, beside the entity sets of the interface.
#
# Generated by tools/business_central_v2.py from the published reference of the API. Change that
# script, not this file. Nothing is computed: `computed` properties have the values that are loaded.
# Complex types, and relations without a property that names the other record, are not served; those
# of the reference are comments here.

comptoir = 1
base = "built-in"
"""


@dataclass(frozen=True)
class _Resource:
    """A resource of the reference; `properties` are names with types and descriptions."""

    name: str
    properties: Mapping[str, tuple[str, str]]
    navigation: Mapping[str, str]
    """The names of navigation properties, and the pages of their types."""

    actions: Sequence[str]
    read_only: bool


@dataclass
class _Catalog:
    """Writes the catalog; `left_out` are the lines about what is not served."""

    resources: Mapping[str, _Resource]
    sets: Mapping[str, str]
    """The entity set of each page."""

    enums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The lines of the file."""
        yield _HEAD
        for name, type_name in _OF_BASE.items():
            yield f'[sets.{name}]\ntype = "{type_name}"\n'
        indexed = self._indexed()
        for page, name in sorted(self.sets.items(), key=lambda each: each[1].lower()):
            yield from self._set(self.resources[page], name, indexed.get(page, []))
        yield "[enums]"
        for name, members in sorted(self.enums.items()):
            yield f"{name} = [{', '.join(map(_member, members))}]"

    def _set(self, resource: _Resource, name: str, indexed: Sequence[str]) -> Iterator[str]:
        key = "id" if "id" in resource.properties else next(iter(resource.properties))
        yield f'[sets.{name}]\ntype = "{resource.name}"'
        if key != "id":
            yield f'key = "{key}"'
        unique = None if resource.name in _DETAILS else _identification(resource)
        if unique:
            yield f'unique = [{{ properties = ["{unique}"], blank_is_free = true }}]'
        # the index of a rule that leaves blank values free serves no order
        sorted_by = [unique] if unique else []
        indexes = [f'["{each}"]' for each in (*sorted_by, *indexed) if each != key]
        if indexes:
            yield f"indexes = [{', '.join(indexes)}]"
        columns = [f'"{each}"' for each in _TELLING if each in resource.properties]
        if len(columns) > 1:
            yield f"columns = [{', '.join(columns[:_COLUMNS])}]"
        if resource.read_only:
            yield "read_only = true"
        yield f"\n[sets.{name}.properties]"
        for each, (type_name, description) in resource.properties.items():
            yield f"{each} = {self._property(each, type_name, description, unique)}"
        navigation = list(self._navigation(resource, name, key))
        if navigation:
            yield f"\n[sets.{name}.navigation]"
            yield from navigation
        if resource.actions:
            yield f"\n[sets.{name}.actions]"
            for action in resource.actions:
                yield f"{action} = {self._action(resource, action)}"
        yield ""

    def _action(self, resource: _Resource, action: str) -> str:
        changed, _, value = _CHANGES.get(action, "").partition(" = ")
        published, description = resource.properties.get(changed, ("", ""))
        if not published:
            return "{}"
        if published.startswith(_ENUM):
            members = self._members(published.removeprefix(_ENUM), description)
            if value.strip('"') not in members:
                return "{}"
        return f"{{ change = {{ {changed} = {value} }} }}"

    def _property(self, name: str, published: str, description: str, unique: str | None) -> str:
        options = {}
        if published.startswith(_ENUM):
            type_name = published.removeprefix(_ENUM)
            members = self._members(type_name, description)
            if name == "status" and members[:2] == (" ", "Draft"):
                options["default"] = '"Draft"'
        else:
            type_name = "String(20)" if name == unique else _TYPES[published]
            if type_name == "String":
                ends = [each for each in _LENGTHS if f"{name[0].upper()}{name[1:]}".endswith(each)]
                type_name = f"String({_LENGTHS[max(ends, key=len)]})" if ends else type_name
        if name == unique:
            options["code"] = "true"
        if name in _STAMPS:
            options["modified_at"] = "true"
        elif name == "systemCreatedAt":
            options["created_at"] = "true"
        elif "Read-Only" in description:
            options["computed"] = "true"
        given = "".join(f", {option} = {value}" for option, value in options.items() if value)
        return f'{{ type = "{type_name}"{given} }}' if given else f'"{type_name}"'

    def _members(self, name: str, description: str) -> tuple[str, ...]:
        """The members of an enumeration: those of the description that lists the most."""
        listed = tuple(each.strip() or " " for each in re.findall(r'"([^"]*)"', description))
        members = max(_ENUMS.get(name, listed), self.enums.get(name, ()), key=len)
        if name not in _ENUMS_OF_BASE:
            self.enums[name] = members
        return members

    def _navigation(self, resource: _Resource, name: str, key: str) -> Iterator[str]:
        for each, page in resource.navigation.items():
            pair = self._pair(resource, each, page)
            if pair is None:
                self.left_out.append(f"{name}/{each}: no property names the other record")
                yield f"# {each}: no property names the other record"
                continue
            target = self.sets[page]
            many = each == target != self.resources[page].name
            to = f"{target}[]" if many else target
            contained = ", contained = true" if many else ""
            yield f'{each} = {{ to = "{to}", on = {{ {pair[0]} = "{pair[1]}" }}{contained} }}'

    def _pair(self, resource: _Resource, name: str, page: str) -> tuple[str, str] | None:
        """The properties of a relation: one of the resource, and one of the other type."""
        own, other = resource.properties, self.resources[page]
        for each in (
            f"{name}Id",
            f"{name}sId",
            f"base{name[0].upper()}{name[1:]}Id",
            *(["documentId"] if resource.name == f"{other.name}Line" else []),
            *(["journalId"] if "ournal" in name and not name.endswith("s") else []),
            *(["relatedId"] if resource.name == "contactInformation" else []),
        ):
            if each in own and "id" in other.properties:
                return each, "id"
        for each in (
            f"{resource.name}Id",
            *(["documentId"] if other.name == f"{resource.name}Line" else []),
            *(["journalId"] if "ournal" in resource.name else []),
            *(["relatedId"] if other.name == "contactInformation" else []),
        ):
            if each in other.properties and "id" in own:
                return "id", each
        if "parentId" in own and "id" in other.properties and "parentId" not in other.properties:
            return "parentId", "id"
        if "parentId" in other.properties:
            return "id", "parentId"
        shared = ("picture", "customerFinancialDetail")
        return ("id", "id") if {resource.name, other.name} & set(shared) else None

    def _indexed(self) -> Mapping[str, list[str]]:
        """The properties of each page by which other records lead to its records."""
        found: dict[str, list[str]] = {}
        for resource in self.resources.values():
            for each, page in resource.navigation.items():
                pair = self._pair(resource, each, page)
                known = found.setdefault(page, [])
                if pair is not None and pair[1] not in known:
                    known.append(pair[1])
        return found


def main() -> None:
    """Write the catalog, and print the counts."""
    parser = argparse.ArgumentParser(description="Generate the catalog of the API v2.0.")
    parser.add_argument("checkout", help="a clone of the published reference")
    checkout = parser.parse_args().checkout
    pages = _git(checkout, "ls-tree", "--name-only", "HEAD", _FOLDER).split()
    found = {_page(path): _resource(_git(checkout, "show", f"HEAD:{path}")) for path in pages}
    (company,) = (each for each in found.values() if each.name == "company")
    resources = {page: each for page, each in found.items() if each.name not in _SERVED_OTHERWISE}
    names = {page: name for name, page in company.navigation.items() if page in resources}
    sets = {page: _SETS.get(name, name) for page, name in names.items()}
    catalog = _Catalog(resources, sets)
    text = "\n".join(catalog.lines())
    _TARGET.write_text(text + "\n", encoding="utf-8")
    properties = sum(len(each.properties) for each in resources.values())
    relations = sum(len(each.navigation) for each in resources.values())
    total = f"{len(resources)} resources, {len(sets)} sets, {properties} properties"
    relations_left = f"{relations} relations, {len(catalog.left_out)} of them not served"
    lacking = [f"without a set: {each}" for each in resources if each not in sets]
    counts = [total, relations_left, *lacking, *catalog.left_out]
    sys.stderr.write("\n".join(counts) + "\n")


def _resource(text: str) -> _Resource:
    (name,) = re.findall(r"^# (\w+)", text, re.MULTILINE)
    columns = _rows(text, "Properties")
    navigation = {}
    for row in _rows(text, "Navigation"):
        link = re.fullmatch(r"\[(\w+)\]\((\S+\.md)\)", row[0])
        if link is not None:
            navigation[link[1]] = link[2].lower()
    methods = [re.sub(r"\W*", "", row[0].split(" ")[0]) for row in _rows(text, "Methods")]
    return _Resource(
        name,
        {row[0]: (row[1], row[2] if len(row) > 2 else "") for row in columns},
        navigation,
        re.findall(r"bound action called `(\w+)`", text),
        read_only=set(methods) == {"GET"},
    )


def _rows(text: str, title: str) -> list[list[str]]:
    """The rows of the table of a section."""
    section = re.search(rf"^## {title}$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    lines = section[1].splitlines() if section else []
    rows = [
        [cell.strip() for cell in each.strip().strip("|").split("|")]
        for each in lines
        if each.startswith("|")
    ]
    return rows[2:]


def _identification(resource: _Resource) -> str | None:
    """The number or code by which people identify a record, if it has a name beside it."""
    return next((each for each in ("number", "code") if each in resource.properties), None)


def _page(path: str) -> str:
    return Path(path).name.lower()


def _member(caption: str) -> str:
    """A member: its name, which is encoded, and its caption, if that has more than blanks."""
    name = re.sub(r"[^\w ]", lambda match: f"_x{ord(match[0]):04X}_", caption)
    name = name if name == caption else name.replace(" ", "_x0020_")
    return f'"{caption}"' if name == caption else f'["{name}", "{caption}"]'


def _git(checkout: str, *arguments: str) -> str:
    command = ["git", "-C", checkout, *arguments]
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout


if __name__ == "__main__":
    main()
