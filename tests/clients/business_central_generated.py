"""pybusinesscentral: generated from Microsoft's description of the API; lists all sets it knows."""

import os
from collections.abc import Sequence
from typing import Protocol

import requests
from pybusinesscentral.api.account_api import AccountApi
from pybusinesscentral.api.company_api import CompanyApi
from pybusinesscentral.api.customer_api import CustomerApi
from pybusinesscentral.api.default_api import DefaultApi
from pybusinesscentral.api.dimension_api import DimensionApi
from pybusinesscentral.api.general_ledger_entry_api import GeneralLedgerEntryApi
from pybusinesscentral.api.journal_api import JournalApi
from pybusinesscentral.api.journal_line_api import JournalLineApi
from pybusinesscentral.api.payment_term_api import PaymentTermApi
from pybusinesscentral.api.purchase_invoice_api import PurchaseInvoiceApi
from pybusinesscentral.api.purchase_invoice_line_api import PurchaseInvoiceLineApi
from pybusinesscentral.api.sales_credit_memo_api import SalesCreditMemoApi
from pybusinesscentral.api.sales_credit_memo_line_api import SalesCreditMemoLineApi
from pybusinesscentral.api.sales_invoice_api import SalesInvoiceApi
from pybusinesscentral.api.sales_invoice_line_api import SalesInvoiceLineApi
from pybusinesscentral.api.vendor_api import VendorApi
from pybusinesscentral.api_client import ApiClient
from pybusinesscentral.configuration import Configuration
from pybusinesscentral.model.list_purchase_invoice_lines_for_purchase_invoice200_response import (
    ListPurchaseInvoiceLinesForPurchaseInvoice200Response as InvoiceLines,
)

from clients.business_central_report import (
    CLIENT_ID,
    CLIENT_SECRET,
    COMPANY_ID,
    HOST,
    TENANT,
    print_report,
)

TOKEN_URL = f"https://login.microsoftonline.com/{TENANT}/oauth2/v2.0/token"


class Listed(Protocol):
    """A response of the package."""

    @property
    def value(self) -> Sequence[object] | None: ...


def main() -> None:
    form = {"grant_type": "client_credentials", "scope": f"{HOST}/.default"}
    credentials = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    token = requests.post(TOKEN_URL, {**form, **credentials}, timeout=100).json()["access_token"]
    settings = Configuration(
        host=f"{HOST}/v2.0/{TENANT}/Production/api/v2.0",
        access_token=token,
        ssl_ca_cert=os.environ["SSL_CERT_FILE"],
    )
    settings.proxy = os.environ["HTTPS_PROXY"]
    with ApiClient(settings) as client:
        journals = JournalApi(client).list_journals(COMPANY_ID).value or []
        journal = str(journals[0].id)
        lines = JournalLineApi(client).list_journal_lines_for_journal(COMPANY_ID, journal)
        # the package does not find the class of this response by itself
        purchase_lines = PurchaseInvoiceLineApi(
            client
        ).list_purchase_invoice_lines_without_preload_content(COMPANY_ID)
        found: dict[str, Listed | None] = {
            "accounts": AccountApi(client).list_accounts(COMPANY_ID),
            "companies": CompanyApi(client).list_companies(),
            "customers": CustomerApi(client).list_customers(COMPANY_ID),
            "dimensions": DimensionApi(client).list_dimensions(COMPANY_ID),
            "generalLedgerEntries": GeneralLedgerEntryApi(client).list_general_ledger_entries(
                COMPANY_ID
            ),
            "generalLedgerSetup": DefaultApi(client).get_general_ledger_setup(COMPANY_ID),
            "journals": JournalApi(client).list_journals(COMPANY_ID),
            "journalLines": lines,
            "paymentTerms": PaymentTermApi(client).list_payment_terms(COMPANY_ID),
            "purchaseInvoices": PurchaseInvoiceApi(client).list_purchase_invoices(COMPANY_ID),
            "purchaseInvoiceLines": InvoiceLines.from_json(purchase_lines.data.decode()),
            "salesCreditMemos": SalesCreditMemoApi(client).list_sales_credit_memos(COMPANY_ID),
            "salesCreditMemoLines": SalesCreditMemoLineApi(client).list_sales_credit_memo_lines(
                COMPANY_ID
            ),
            "salesInvoices": SalesInvoiceApi(client).list_sales_invoices(COMPANY_ID),
            "salesInvoiceLines": SalesInvoiceLineApi(client).list_sales_invoice_lines(COMPANY_ID),
            "vendors": VendorApi(client).list_vendors(COMPANY_ID),
        }
        print_report({name: len(each.value or []) for name, each in found.items() if each})


main()
