"""What the scripts of OAuth clients in Python share; a request elsewhere than here ends them."""

import json
import os
import sys
from collections.abc import Callable, Mapping

import requests

from clients.stay_here import stay_here

ORIGIN = os.environ["ORIGIN"]
TOKEN_ENDPOINT = f"{ORIGIN}/comptoir/oauth2/v2.0/token"
CLIENT_ID = os.environ["CLIENT_ID"]
RECORDS = os.environ["RECORDS"]
"""The address of an entity set with one record."""
SCOPES = ["api://comptoir/.default"]

Read = Callable[[str], str]
"""Reads the record with a token that a credential of the client gets; raises `RefusedError`."""


class RefusedError(Exception):
    """The error of a library for a wrong credential."""


def read_with(token: str) -> str:
    """The code of the record."""
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {token}"
        return read_by(session)


def read_by(session: requests.Session) -> str:
    """The code of the record, read by a session that adds the token."""
    response = session.get(RECORDS, timeout=100)
    response.raise_for_status()
    return str(response.json()["value"][0]["code"])


def print_report(with_secret: Mapping[str, Read], with_key: Mapping[str, Read]) -> None:
    """Print what each mode reads, and its error for a wrong credential, as JSON.

    A key is a PEM file with a private key and its certificate.
    """
    secret = os.environ["CLIENT_SECRET"]
    cases = [(mode, read, secret, f"{secret}x") for mode, read in with_secret.items()]
    for mode, read in with_key.items():
        cases.append((mode, read, os.environ["KEY"], os.environ["OTHER_KEY"]))
    report = {
        mode: {"record": read(right), "refusal": _refusal(read, wrong)}
        for mode, read, right, wrong in cases
    }
    json.dump(report, sys.stdout)


def _refusal(read: Read, wrong: str) -> str:
    try:
        return f"no error, but {read(wrong)}"
    except RefusedError as refused:
        return str(refused)


stay_here()
