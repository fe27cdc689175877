"""Batches: bodies in JSON or multipart/mixed to one tree of requests and atomic groups."""
