"""Index the numbers of contacts and customers.

Their unique indexes omit blank numbers, and so serve no filter that might ask for them.
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None
serves = "0001"


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    op.create_index("ix_contactsExt_1", "contactsExt", ["company_id", "number", "id"])
    op.create_index("ix_customersExt_0", "customersExt", ["company_id", "number", "id"])
