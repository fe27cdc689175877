"""The methods of requests to the API."""

READ_METHODS = frozenset({"GET", "HEAD"})

WRITE_METHODS = frozenset({"POST", "PATCH", "PUT", "DELETE"})
