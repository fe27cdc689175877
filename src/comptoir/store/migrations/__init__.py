"""The schema's history: one revision after another, run by `comptoir.store.schema`."""
