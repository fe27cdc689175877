"""Batches: requests that come in one body, each answered by the service as if sent alone."""

from comptoir.http.batch.endpoint import Batches, names_batch

__all__ = ["Batches", "names_batch"]
