"""pybusinesscentral: generated from Microsoft's description of the API; lists all sets it knows."""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from pybusinesscentral.api.company_api import CompanyApi
from pybusinesscentral.api.journal_api import JournalApi
from pybusinesscentral.api.journal_line_api import JournalLineApi
from pybusinesscentral.api.purchase_invoice_line_api import PurchaseInvoiceLineApi
from pybusinesscentral.api_client import ApiClient
from pybusinesscentral.configuration import Configuration
from pybusinesscentral.model.list_purchase_invoice_lines_for_purchase_invoice200_response import (
    ListPurchaseInvoiceLinesForPurchaseInvoice200Response as InvoiceLines,
)

from clients.business_central_report import COMPANY_ID, HOST, TENANT, access_token, print_report

LISTS = """
account.list_accounts customer.list_customers dimension.list_dimensions journal.list_journals
general_ledger_entry.list_general_ledger_entries default.get_general_ledger_setup
payment_term.list_payment_terms purchase_invoice.list_purchase_invoices vendor.list_vendors
sales_credit_memo.list_sales_credit_memos sales_credit_memo_line.list_sales_credit_memo_lines
sales_invoice.list_sales_invoices sales_invoice_line.list_sales_invoice_lines
"""
"""The methods of the package that read a set of a company, by their modules."""


class Listed(Protocol):
    """A response of the package."""

    @property
    def value(self) -> Sequence[object] | None: ...


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


def of_company(client: ApiClient, place: str) -> tuple[str, Listed]:
    """The name of a set, and what a method of `LISTS` returns."""
    module, method = place.split(".")
    api = getattr(import_module(f"pybusinesscentral.api.{module}_api"), camel(f"_{module}_api"))
    return camel(method.partition("_")[2]), getattr(api(client), method)(COMPANY_ID)


def main() -> None:
    settings = Configuration(
        host=f"{HOST}/v2.0/{TENANT}/Production/api/v2.0",
        access_token=access_token(),
        ssl_ca_cert=os.environ["SSL_CERT_FILE"],
    )
    settings.proxy = os.environ["HTTPS_PROXY"]
    with ApiClient(settings) as client:
        journals = JournalApi(client).list_journals(COMPANY_ID).value or []
        journal = str(journals[0].id)
        # the package does not find the class of this response by itself
        purchase_lines = PurchaseInvoiceLineApi(
            client
        ).list_purchase_invoice_lines_without_preload_content(COMPANY_ID)
        found: dict[str, Listed | None] = {
            "companies": CompanyApi(client).list_companies(),
            "journalLines": JournalLineApi(client).list_journal_lines_for_journal(
                COMPANY_ID, journal
            ),
            "purchaseInvoiceLines": InvoiceLines.from_json(purchase_lines.data.decode()),
            **dict(of_company(client, each) for each in LISTS.split()),
        }
        print_report({name: len(each.value or []) for name, each in found.items() if each})


main()
