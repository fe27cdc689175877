"""A believable company out of a seed: the same size and seed give the same records, row by row.

That holds for one version of mimesis, from whose word lists names, streets and cities are drawn.

The rows are in text form, as in the files that are loaded. They are streamed: a record refers to
another by its position, from which everything about that one can be computed again, so that
memory does not grow with the size. Whoever is in them does not exist: names are random
combinations, and addresses of mail and web lie in domains reserved for examples (RFC 2606).
"""

from comptoir.samples.company import SampleTable, sample_company
from comptoir.samples.size import COUNTS, Counts, SampleSize

__all__ = ["COUNTS", "Counts", "SampleSize", "SampleTable", "sample_company"]
