"""The verbs of the API: each plans a request, runs the plan and builds the response."""

from comptoir.service.context import Request
from comptoir.service.reads import Table
from comptoir.service.service import Service
from comptoir.service.writes import GroupRefusedError

__all__ = ["GroupRefusedError", "Request", "Service", "Table"]
