"""The peer: an API over the same records, as users of FastAPI and SQLAlchemy write it."""
