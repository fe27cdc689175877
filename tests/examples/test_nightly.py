"""The nightly export: its files have the records, with the types of the properties."""

import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from examples.conftest import EXAMPLES, Stage
from support.databases import ON_SQLITE
from support.programs import finished

pytestmark = ON_SQLITE  # the database makes no difference to a client


def test_the_files_have_all_records_with_exact_values(stage: Stage, tmp_path: Path) -> None:
    stage.faults.set(
        {"id": "busy", "fault": "throttle; retry-after=0", "match": {"nth": 3}, "times": 2}
    )
    program = [sys.executable, str(EXAMPLES / "nightly" / "export.py")]
    printed = finished(["env", "-C", str(tmp_path), *program], stage.variables)
    (folder,) = (tmp_path / "export").iterdir()
    assert f"export/{folder.name}/salesPricesExt.parquet: 3 records" in printed.splitlines()
    assert folder.name == date.fromisoformat(folder.name).isoformat()
    files = {each.name: pq.read_table(each) for each in folder.iterdir()}
    assert sorted(files) == ["customersExt.parquet", "itemsExt.parquet", "salesPricesExt.parquet"]
    prices = files["salesPricesExt.parquet"]
    assert prices["unitPrice"].to_pylist() == [Decimal("1.5"), Decimal("2.5"), Decimal("3.5")]
    assert prices.schema.field("entryNo").type == pa.int32()
    items = files["itemsExt.parquet"]
    assert sorted(items["number"].to_pylist()) == [f"I{each}" for each in range(6)]
    assert items.schema.field("lastModifiedDateTime").type == pa.timestamp("ms", "UTC")
    assert files["customersExt.parquet"]["displayName"].to_pylist() == ["Quaystone"]
