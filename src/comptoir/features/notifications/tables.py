"""The tables of subscriptions, and of the progress of their deliveries."""

from sqlalchemy import BigInteger, MetaData

from comptoir.sql.column_types import text
from comptoir.sql.tables import service_table

METADATA = MetaData()
_number, _any_text = BigInteger(), text()

SUBSCRIPTIONS = service_table(
    METADATA,
    "subscriptions",
    1,
    id=text(64),
    owner=_any_text,
    url=_any_text,
    sets=_any_text,
    resource=_any_text,
    client_state=_any_text,
    version=_number,
    expires_at=_number,
    created_at=text(24),
    modified_at=text(24),
)
"""The receivers of notifications of a set; the end is in epoch seconds.

`sets` has the name of the set, and `resource` the URL of it that the client used. `owner` is the
subject of the client, and `version` the number of its ETag.
"""

LANES = service_table(
    METADATA,
    "lanes",
    2,
    subscription=text(64),
    lane=_number,
    cursor=_number,
    tries=_number,
    due_at=_number,
    holder=text(32),
    leased_until=_number,
)
"""The progress of the deliveries of each subscription, now of one lane, 0.

`cursor` is the number of the last change that was delivered, and `tries` how many attempts after it
have failed. The next one may begin at `due_at`, on the clock of the profile. Only `holder` delivers
until `leased_until`, on the clock of the processes. Both are in epoch seconds.
"""

SUBSCRIBED = service_table(
    METADATA, "subscribed", 1, per_company=False, company=text(36), since=_number
)
"""The companies that may have subscriptions; only their change logs are followed.

`since` is the time in epoch seconds at which the last subscription was about to be added.
"""
