"""Tests of clients: a pytest plugin that starts the service, and its report of traps.

`testing.plugin` is imported by pytest alone.
"""

from comptoir.testing.report import Line
from comptoir.testing.service import Comptoir, Sent

__all__ = ["Comptoir", "Line", "Sent"]
