"""Responses as bytes: records, collections, batches and errors."""
