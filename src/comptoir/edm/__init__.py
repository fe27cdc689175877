"""The model: primitive types, entity types and entity sets."""
