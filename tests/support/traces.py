"""The output of strace."""

import re
from pathlib import Path


def ended(trace: Path, process: int) -> str | None:
    """The trace, as soon as it contains the end of the process."""
    text = trace.read_text(errors="replace")
    end = re.search(rf"^{process} +\+\+\+ (exited|killed)", text, re.MULTILINE)
    return text if end is not None else None
