"""The sources of the service with another list of features."""

from collections.abc import Callable
from pathlib import Path

import comptoir

SOURCES = Path(comptoir.__file__).parent


def linked(folder: Path, listed: Callable[[str], str], without: str = "") -> Path:
    """A package in a folder, of links to the modules of the service, but for a deleted feature.

    `listed` changes the module that lists the features.
    """
    package = folder / "comptoir"
    for name in ("", "features"):
        (package / name).mkdir(parents=True)
        for each in (SOURCES / name).iterdir():
            if each.name not in ("features", "__pycache__", without):
                (package / name / each.name).symlink_to(each)
    entries = package / "features" / "__init__.py"
    entries.unlink()
    entries.write_text(listed((SOURCES / "features" / "__init__.py").read_text("utf-8")), "utf-8")
    return package
