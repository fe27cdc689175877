"""The revisions of the schema, from the first on."""
