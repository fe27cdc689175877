"""The verbs. Each is request, plan, store, response, in that order."""

from comptoir.service.context import Request
from comptoir.service.service import Service

__all__ = ["Request", "Service"]
