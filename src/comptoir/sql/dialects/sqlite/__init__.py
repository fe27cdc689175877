"""SQLite: its functions, routines, text index, patterns and types."""
