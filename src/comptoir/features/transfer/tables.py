"""The table of the progress of loads: how many rows of a file are written."""

import sqlalchemy as sa

from comptoir.sql.tables import service_table, text

METADATA = sa.MetaData()

LOADS = service_table(
    METADATA, "loads", 2, entity_set=text(), digest=text(64), rows_done=sa.BigInteger()
)
