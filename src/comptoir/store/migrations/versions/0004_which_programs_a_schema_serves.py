"""Which programs a schema serves."""

import sqlalchemy as sa
from alembic import op

from comptoir.sql import column_types

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None
serves = "0001"


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    op.create_table(
        "schema_state",
        sa.Column("name", column_types.text(), nullable=False),
        sa.Column("value", column_types.text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_schema_state"),
    )
