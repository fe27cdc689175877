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
    """Bring the schema from the revision before to this one."""
    ${upgrades if upgrades else "pass"}
