"""Statements built from plans with SQLAlchemy Core, each compiled once per shape of its plan."""
