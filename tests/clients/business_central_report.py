"""What the scripts of clients of Business Central know, and how they report."""

import json
import os
import sys
from collections.abc import Mapping

import requests

from clients.stay_here import stay_here

CLIENT_ID = os.environ["CLIENT_ID"]
CLIENT_SECRET = os.environ["CLIENT_SECRET"]
TENANT = os.environ["TENANT"]
COMPANY_ID = os.environ["COMPANY_ID"]
COMPANY_NAME = os.environ["COMPANY_NAME"]
THROTTLED = "shippingAgentsExt"
"""The entity set of which each client's first read is throttled."""
HOST = "https://api.businesscentral.dynamics.com"


def access_token() -> str:
    """A token for the client, of the token endpoint of Microsoft's address."""
    form = {"grant_type": "client_credentials", "scope": f"{HOST}/.default"}
    credentials = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    url = f"https://login.microsoftonline.com/{TENANT}/oauth2/v2.0/token"
    return str(requests.post(url, {**form, **credentials}, timeout=100).json()["access_token"])


def print_report(report: Mapping[str, object]) -> None:
    """Print what each step returned, as JSON."""
    json.dump(report, sys.stdout)


stay_here()
