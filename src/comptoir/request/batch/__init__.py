"""Batches: bodies in JSON or multipart/mixed to one tree of requests and atomic groups."""

from comptoir.request.batch.documents import parse_documents
from comptoir.request.batch.multipart import MULTIPART, boundary_of, parse_multipart
from comptoir.request.batch.tree import (
    Address,
    Batch,
    BatchLimits,
    Condition,
    Group,
    Part,
    Roots,
    holds,
    malformed,
    origin,
    referenced_tag,
)

__all__ = [
    "MULTIPART",
    "Address",
    "Batch",
    "BatchLimits",
    "Condition",
    "Group",
    "Part",
    "Roots",
    "boundary_of",
    "holds",
    "malformed",
    "origin",
    "parse_documents",
    "parse_multipart",
    "referenced_tag",
]
