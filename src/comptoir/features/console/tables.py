"""The tables of the logins to the console; their times are in epoch seconds."""

from sqlalchemy import BigInteger, MetaData

from comptoir.sql.tables import USER, service_table, text

METADATA = MetaData()
_number = BigInteger()

CODES = service_table(METADATA, "console_codes", 1, per_company=False, digest=text(64),
    subject=text(), role=text(), companies=text(), expires_at=_number, used_at=_number)  # fmt: skip
"""The codes that begin sessions, by the SHA-256 of each."""

SESSIONS = service_table(METADATA, "console_sessions", 1, per_company=False, digest=text(64),
    subject=text(), role=text(), companies=text(), created_at=_number, seen_at=_number,
    expires_at=_number)  # fmt: skip
"""The sessions, by the SHA-256 of each one's secret."""
SESSIONS.info[USER] = "subject"
