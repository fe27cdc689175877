"""The answers to a batch, written as JSON or multipart/mixed while its requests are done."""

from comptoir.response.batch.documents import documents
from comptoir.response.batch.multipart import multipart, new_boundary
from comptoir.response.batch.reply import GroupReply, Replies, Reply, gathered

__all__ = [
    "GroupReply",
    "Replies",
    "Reply",
    "documents",
    "gathered",
    "multipart",
    "new_boundary",
]
