"""The verbs of the API: each checks a request, plans it, runs the plan and responds."""

from comptoir.service.context import Request
from comptoir.service.service import Service

__all__ = ["Request", "Service"]
