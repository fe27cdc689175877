"""${message}."""

import sqlalchemy as sa
from alembic import op
${"\n" + imports + "\n" if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}
serves = ${repr(config.attributes["serves"])}


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    ${upgrades if upgrades else "pass"}
