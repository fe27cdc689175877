"""Batches: requests that come in one body, each answered by the service as if sent alone."""

from comptoir.http.batch.endpoint import Batches, batch_root

__all__ = ["Batches", "batch_root"]
