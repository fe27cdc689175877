"""The interface in the words of OpenAPI 3.1, for those who read that and not `$metadata`."""

from comptoir.metadata.openapi.document import openapi_document

__all__ = ["openapi_document"]
