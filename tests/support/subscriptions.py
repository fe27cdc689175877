"""Stored subscriptions, for tests of what happens to their rows."""

from support.companies import Company
from support.databases import run_sql

_SUBSCRIPTION = (
    "INSERT INTO subscriptions (company_id, id, owner, url, sets, resource, client_state, version,"
    " expires_at, created_at, modified_at) VALUES (:company, 'one', 'me', 'https://example.com',"
    " 'itemsExt', 'itemsExt', 'state', 1, 2000000000, '2026-01-31T12:00:00.000Z',"
    " '2026-01-31T12:00:00.000Z')"
)
_LANE = (
    "INSERT INTO lanes (company_id, subscription, lane, cursor, tries, due_at, holder,"
    " leased_until) VALUES (:company, 'one', 0, 0, 0, 0, '', 0)"
)


def subscribe(url: str, company: Company) -> None:
    """Store a subscription of a company, with its lane."""
    for statement in (_SUBSCRIPTION, _LANE):
        run_sql(url, statement, company=company.id)
