"""Documents that describe the model: the service document, `$metadata` and OpenAPI."""
