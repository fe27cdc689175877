"""Runs statements: reads, one unit of work per write, the change log, migrations."""
