"""The control tables, which belong to no company: clients, roles, issuers, the audit log.

Their metadata is separate from that of `build_tables`, whose tables are copied, deleted and
distributed by company.
"""

from functools import cache, partial

from sqlalchemy import BigInteger, Column, Index, MetaData

from comptoir.sql.column_types import text
from comptoir.sql.tables import COMPANY_ID, feature_tables, service_table

_METADATA = MetaData()
_table = partial(service_table, _METADATA, per_company=False)
_number, _any_text, _instant = BigInteger(), text(), text(24)

USER = "user"
"""The key in `Table.info` of the name of a column with users. Their rows end with their issuer."""

CONTROL = _table("control", 1, version=_number)
"""Has one row, whose version every change raises."""

CLIENTS = _table(
    "clients",
    1,
    id=text(36),
    name=_any_text,
    scopes=_any_text,
    roles=_any_text,
    companies=_any_text,
    rate=_any_text,
    quota=_number,
    state=_any_text,
    created_at=_instant,
    not_before=_number,
)
Index("ux_clients_name", CLIENTS.c["name"], unique=True)

CLIENT_SECRETS = _table(
    "client_secrets",
    2,
    client=text(36),
    id=text(16),
    digest=text(64),
    hint=text(8),
    created_at=_instant,
    expires_at=_number,
    used_at=_number,
)

CLIENT_KEYS = _table(
    "client_keys",
    2,
    client=text(36),
    kid=text(64),
    jwk=_any_text,
    x5t=text(32),
    x5t_s256=text(48),
    expires_at=_number,
)
"""The public keys of clients as JWK, until their end in epoch seconds.

`x5t` and `x5t_s256` are the thumbprints of a certificate, blank for a key without one.
"""

ASSERTIONS = _table(
    "assertions",
    2,
    client=text(36),
    jti=text(255),
    expires_at=_number,
)
"""The ids of the assertions that clients have used, until their end in epoch seconds."""
Index("ix_assertions_expires_at", ASSERTIONS.c.expires_at)

ROLES = _table("roles", 1, name=text(64), document=_any_text)

REVOKED = _table("revoked", 1, jti=text(255), expires_at=_number)
"""The ids of tokens that were revoked, until their end in epoch seconds."""
Index("ix_revoked_expires_at", REVOKED.c.expires_at)

ISSUERS = _table("issuers", 1, name=text(64), url=_any_text, document=_any_text)
"""Outside issuers; the document has the terms of their tokens."""
Index("ux_issuers_url", ISSUERS.c.url, unique=True)

AUDIT = _table(
    "audit",
    1,
    number=_number,
    at=_instant,
    by=_any_text,
    address=_any_text,
    request=_any_text,
    act=_any_text,
    target=_any_text,
    detail=_any_text,
)
"""The audit log, numbered without gaps under the lock of the row of `control`."""

# not used: earlier releases store here what the processes of a service with faults share
_table("rehearsal", 1, version=_number, document=_any_text)

# not used: earlier releases store here the failed logins of the last minute
_guesses = _table("console_guesses", 1, number=_number, network=text(64), at=_number)
# programs of revision 0011 add wrong codes without it
_guesses.append_column(Column("issuer", text(), nullable=False, server_default=""))
Index("ix_console_guesses_network", _guesses.c.network)


@cache
def control_tables() -> MetaData:
    """All control tables, with those of features."""
    metadata = MetaData()
    for each in (*_METADATA.tables.values(), *feature_tables()):
        if COMPANY_ID not in each.columns:
            each.to_metadata(metadata)
    return metadata
