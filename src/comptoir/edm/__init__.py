"""What a kind of record is: primitive types, properties, entity types and sets, the model."""
