"""The functions of PostgreSQL."""

from types import MappingProxyType

from comptoir.sql.functions import SQLITE, FunctionTable

POSTGRES: FunctionTable = MappingProxyType(dict(SQLITE))
