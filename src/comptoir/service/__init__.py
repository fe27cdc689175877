"""The verbs of the API: each plans a request, runs the plan and builds the response."""

from comptoir.service.context import Request
from comptoir.service.service import Service
from comptoir.service.writes import RefusedGroup

__all__ = ["RefusedGroup", "Request", "Service"]
