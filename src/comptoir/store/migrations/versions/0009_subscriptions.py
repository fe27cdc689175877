"""Subscriptions with their progress, the companies that have some, and the state of rehearsals."""

import sqlalchemy as sa
from alembic import op

from comptoir.sql import column_types

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None
serves = "0001"


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    op.create_table(
        "lanes",
        sa.Column("company_id", column_types.text(36), nullable=False),
        sa.Column("subscription", column_types.text(64), nullable=False),
        sa.Column("lane", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("cursor", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tries", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("due_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("holder", column_types.text(32), nullable=False),
        sa.Column("leased_until", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("company_id", "subscription", "lane", name="pk_lanes"),
    )
    rehearsal = op.create_table(
        "rehearsal",
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("document", column_types.text(), nullable=False),
        sa.PrimaryKeyConstraint("version", name="pk_rehearsal"),
    )
    op.bulk_insert(rehearsal, [{"version": 1, "document": "{}"}])
    op.create_table(
        "subscribed",
        sa.Column("company", column_types.text(36), nullable=False),
        sa.Column("since", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("company", name="pk_subscribed"),
    )
    op.create_table(
        "subscriptions",
        sa.Column("company_id", column_types.text(36), nullable=False),
        sa.Column("id", column_types.text(64), nullable=False),
        sa.Column("owner", column_types.text(), nullable=False),
        sa.Column("url", column_types.text(), nullable=False),
        sa.Column("sets", column_types.text(), nullable=False),
        sa.Column("resource", column_types.text(), nullable=False),
        sa.Column("client_state", column_types.text(), nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("expires_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("created_at", column_types.text(24), nullable=False),
        sa.Column("modified_at", column_types.text(24), nullable=False),
        sa.PrimaryKeyConstraint("company_id", "id", name="pk_subscriptions"),
    )
