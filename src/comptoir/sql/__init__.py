"""Plans to statements: built with SQLAlchemy Core, compiled once per shape, run elsewhere."""
