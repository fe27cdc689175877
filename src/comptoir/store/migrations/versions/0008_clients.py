"""The control tables, which belong to no company: clients, roles, issuers, the audit log."""

import sqlalchemy as sa
from alembic import op

from comptoir.sql import column_types

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None
serves = "0001"


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    control = op.create_table(
        "control",
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("version", name="pk_control"),
    )
    op.bulk_insert(control, [{"version": 1}])
    op.create_table(
        "clients",
        sa.Column("id", column_types.text(36), nullable=False),
        sa.Column("name", column_types.text(), nullable=False),
        sa.Column("scopes", column_types.text(), nullable=False),
        sa.Column("roles", column_types.text(), nullable=False),
        sa.Column("companies", column_types.text(), nullable=False),
        sa.Column("rate", column_types.text(), nullable=False),
        sa.Column("quota", sa.BigInteger(), nullable=False),
        sa.Column("state", column_types.text(), nullable=False),
        sa.Column("created_at", column_types.text(24), nullable=False),
        sa.Column("not_before", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_clients"),
    )
    op.create_index("ux_clients_name", "clients", ["name"], unique=True)
    op.create_table(
        "client_secrets",
        sa.Column("client", column_types.text(36), nullable=False),
        sa.Column("id", column_types.text(16), nullable=False),
        sa.Column("digest", column_types.text(64), nullable=False),
        sa.Column("hint", column_types.text(8), nullable=False),
        sa.Column("created_at", column_types.text(24), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("client", "id", name="pk_client_secrets"),
    )
    op.create_table(
        "roles",
        sa.Column("name", column_types.text(64), nullable=False),
        sa.Column("document", column_types.text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_roles"),
    )
    op.create_table(
        "revoked",
        sa.Column("jti", column_types.text(255), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("jti", name="pk_revoked"),
    )
    op.create_index("ix_revoked_expires_at", "revoked", ["expires_at"])
    op.create_table(
        "issuers",
        sa.Column("name", column_types.text(64), nullable=False),
        sa.Column("url", column_types.text(), nullable=False),
        sa.Column("document", column_types.text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_issuers"),
    )
    op.create_index("ux_issuers_url", "issuers", ["url"], unique=True)
    op.create_table(
        "client_keys",
        sa.Column("client", column_types.text(36), nullable=False),
        sa.Column("kid", column_types.text(64), nullable=False),
        sa.Column("jwk", column_types.text(), nullable=False),
        sa.Column("x5t", column_types.text(32), nullable=False),
        sa.Column("x5t_s256", column_types.text(48), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("client", "kid", name="pk_client_keys"),
    )
    op.create_table(
        "assertions",
        sa.Column("client", column_types.text(36), nullable=False),
        sa.Column("jti", column_types.text(255), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("client", "jti", name="pk_assertions"),
    )
    op.create_index("ix_assertions_expires_at", "assertions", ["expires_at"])
    op.create_table(
        "audit",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", column_types.text(24), nullable=False),
        sa.Column("by", column_types.text(), nullable=False),
        sa.Column("address", column_types.text(), nullable=False),
        sa.Column("request", column_types.text(), nullable=False),
        sa.Column("act", column_types.text(), nullable=False),
        sa.Column("target", column_types.text(), nullable=False),
        sa.Column("detail", column_types.text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )
