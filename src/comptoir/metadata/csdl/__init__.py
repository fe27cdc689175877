"""`$metadata`: the model in the Common Schema Definition Language (CSDL 4.01), XML and JSON."""

from comptoir.metadata.csdl.document import (
    JSON,
    MEDIA_TYPES,
    XML,
    csdl_version,
    metadata_document,
)

__all__ = ["JSON", "MEDIA_TYPES", "XML", "csdl_version", "metadata_document"]
