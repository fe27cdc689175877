"""Routines name the errors that they raise, and no longer have their texts.

The tables do not change. After the revisions, the routines are created again.
"""

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None
serves = "0001"


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
