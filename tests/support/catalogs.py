"""Models of catalogs that tests write."""

from pathlib import Path

from comptoir.catalog import read_catalog
from comptoir.edm.model import Model


def model_of(folder: Path, text: str) -> Model:
    """The model that a file with this text declares."""
    file = folder / f"{len(text)}.toml"
    file.write_text(text, encoding="utf-8")
    return read_catalog(file)
