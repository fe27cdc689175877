"""The logins to the console: codes and sessions."""

import sqlalchemy as sa
from alembic import op

from comptoir.sql import column_types

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None
serves = "0001"


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    op.create_table(
        "console_codes",
        sa.Column("digest", column_types.text(64), nullable=False),
        sa.Column("subject", column_types.text(), nullable=False),
        sa.Column("role", column_types.text(), nullable=False),
        sa.Column("companies", column_types.text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("used_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_console_codes"),
    )
    op.create_table(
        "console_sessions",
        sa.Column("digest", column_types.text(64), nullable=False),
        sa.Column("subject", column_types.text(), nullable=False),
        sa.Column("role", column_types.text(), nullable=False),
        sa.Column("companies", column_types.text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seen_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("expires_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_console_sessions"),
    )
