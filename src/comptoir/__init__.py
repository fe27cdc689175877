"""Comptoir: a self-hosted service for the business records of an ERP, over HTTP and JSON."""

__version__ = "0.1.0"
