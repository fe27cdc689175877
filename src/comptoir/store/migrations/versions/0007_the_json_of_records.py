"""The JSON of records, and on SQLite their order by key."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None
serves = "0001"

TABLES = (
    "ItemProductTextLongContentsExt",
    "campaignsExt",
    "contactsExt",
    "customersExt",
    "itemAttributeValuesExt",
    "itemAttributesExt",
    "itemReferencesExt",
    "itemTranslationsExt",
    "itemsExt",
    "salesPricesExt",
    "shippingAgentsExt",
    "unitsOfMeasureExt",
)


JSON = ("record_json", "json_version", "json_layout")


def upgrade() -> None:
    """Upgrade the schema from the previous revision."""
    for name in TABLES:
        if op.get_bind().dialect.name == "sqlite":
            _order_by_key(name)
        else:
            for column in _json_columns():
                op.add_column(name, column)


def _json_columns() -> list[sa.Column[bytes] | sa.Column[int]]:
    return [
        sa.Column(JSON[0], sa.LargeBinary),
        *(sa.Column(each, sa.BigInteger) for each in JSON[1:]),
    ]


def _order_by_key(name: str) -> None:
    """Create a table of SQLite again, with its rows in the order of the primary key."""
    connection = op.get_bind()
    old = sa.Table(name, sa.MetaData(), autoload_with=connection)
    columns = [sa.Column(each.name, each.type, nullable=False) for each in old.columns]
    company, version, *properties = columns
    new = sa.Table(
        f"{name}_by_key",
        sa.MetaData(),
        company,
        version,
        *_json_columns(),
        *properties,
        sa.PrimaryKeyConstraint(*(each.name for each in old.primary_key), name=f"pk_{name}"),
        sqlite_with_rowid=False,
    )
    new.create(connection)
    rows = sa.select(old).order_by(*old.primary_key)
    connection.execute(sa.insert(new).from_select([each.name for each in columns], rows))
    indexes = list(old.indexes)
    old.drop(connection)
    op.rename_table(new.name, name)
    for index in indexes:
        index.create(connection)
