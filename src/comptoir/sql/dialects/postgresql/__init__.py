"""PostgreSQL: its functions, routines, text index, patterns, types and arrays."""
