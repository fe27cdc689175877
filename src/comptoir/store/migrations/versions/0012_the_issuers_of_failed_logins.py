"""The issuers of failed logins."""

import sqlalchemy as sa
from alembic import op

from comptoir.sql import column_types

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None
serves = "0001"


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    # earlier programs add wrong codes without it
    op.add_column(
        "console_guesses",
        sa.Column("issuer", column_types.text(), nullable=False, server_default=""),
    )
