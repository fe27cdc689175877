"""Unfinished copies."""

import sqlalchemy as sa
from alembic import op

from comptoir.sql import column_types

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None
serves = "0001"


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    op.create_table(
        "copies",
        sa.Column("company_id", column_types.text(36), nullable=False),
        sa.Column("incarnation", column_types.text(32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("holder", column_types.text(32), nullable=False),
        sa.PrimaryKeyConstraint("company_id", name="pk_copies"),
    )
