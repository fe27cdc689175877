"""The table of the progress of loads: how many rows of a file are written."""

from sqlalchemy import BigInteger, MetaData

from comptoir.sql.column_types import text
from comptoir.sql.tables import service_table

METADATA = MetaData()

LOADS = service_table(
    METADATA, "loads", 2, entity_set=text(), digest=text(64), rows_done=BigInteger()
)
