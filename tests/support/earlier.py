"""Databases as earlier revisions left them: the current one without what was added since."""

from collections.abc import Mapping, Sequence
from itertools import product

from sqlalchemy import Connection, text

from comptoir.catalog import MODEL
from comptoir.sql.dialects.sqlite import INDEX
from comptoir.sql.tables import JSON
from comptoir.store.schema import SERVES

_CLIENTS = "assertions audit client_keys client_secrets clients control issuers revoked roles"

ADDED: Mapping[str, Sequence[str]] = {
    "0002": ["TABLE repeats"],
    "0003": ["TABLE search_documents", "TABLE search_marks"],
    "0004": ["TABLE schema_state"],
    "0005": ["TABLE copies"],
    "0006": ['INDEX "ix_contactsExt_1"', 'INDEX "ix_customersExt_0"'],
    "0008": [f"TABLE {each}" for each in _CLIENTS.split()],
    "0009": [f"TABLE {each}" for each in ("lanes", "rehearsal", "subscribed", "subscriptions")],
    "0010": ["TABLE console_codes", "TABLE console_sessions"],
    "0011": ["TABLE console_guesses"],
    "0012": ["COLUMN console_guesses.issuer"],
    "0014": ["INDEX ix_changes_difference", "COLUMN changes.difference", "COLUMN changes.previous"],
}
"""What each revision has added, in the order in which it can be dropped.

Revision 0007 gave the tables of records the columns of JSON.
"""


def set_back(connection: Connection, revision: str) -> None:
    """Bring a database of the current revision to an earlier one, whose state was not recorded."""
    connection.execute(text("DELETE FROM schema_state"))
    for each in sorted(SERVES, reverse=True):
        if each == revision:
            break
        for added in ADDED.get(each, ()):
            kind, name = added.split(" ")
            table, _, column = name.partition(".")
            dropped = f"ALTER TABLE {table} DROP COLUMN {column}"
            connection.execute(text(dropped if kind == "COLUMN" else f"DROP {added}"))
        if each == "0007":
            for entity_set, column in product(MODEL.stored, JSON):
                connection.execute(text(f'ALTER TABLE "{entity_set.name}" DROP COLUMN {column}'))
        if each == "0003" and connection.dialect.name == "sqlite":
            connection.execute(text(f"DROP TABLE {INDEX}"))
    connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))
