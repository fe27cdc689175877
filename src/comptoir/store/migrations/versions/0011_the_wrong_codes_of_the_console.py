"""The wrong codes that were sent to the console."""

import sqlalchemy as sa
from alembic import op

from comptoir.sql import column_types

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None
serves = "0001"


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    op.create_table(
        "console_guesses",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("network", column_types.text(64), nullable=False),
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_console_guesses"),
    )
    op.create_index("ix_console_guesses_network", "console_guesses", ["network"])
