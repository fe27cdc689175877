"""Companies in bulk: load files, dump to files, and copy between databases."""

from collections.abc import Callable

ShowProgress = Callable[[str, int, int], None]
"""Called with the stage, the rows done, and the rows in all (0 while unknown)."""
