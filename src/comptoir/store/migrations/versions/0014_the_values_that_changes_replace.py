"""The values that changes replace, in the change log."""

import sqlalchemy as sa
from alembic import op

from comptoir.sql import column_types

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None
serves = "0001"


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    op.add_column("changes", sa.Column("previous", sa.BigInteger()))
    op.add_column("changes", sa.Column("difference", column_types.text()))
    is_kept = sa.text("difference IS NOT NULL")
    op.create_index(
        "ix_changes_difference",
        "changes",
        ["company_id", "at"],
        sqlite_where=is_kept,
        postgresql_where=is_kept,
    )
