"""Headers of every answer: what caches may do with it (RFC 9111), and that its type is certain.

Answers depend on a token, and most change without notice, so nothing keeps them: by default, a
cache may answer 404 or a deleted record for as long as it guesses. A record as it is may be kept by
its client's own cache, which asks each time whether the tag is still the record's.
"""

from comptoir.response.response import Header

Guards = tuple[Header, ...]

NOT_KEPT: Guards = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
"""The default."""

REVALIDATED: Guards = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"private, no-cache"),
    # a tag is that of the record, in whatever form it is shown
    (b"vary", b"Accept"),
)
"""For what stays the same as long as its tag does."""
