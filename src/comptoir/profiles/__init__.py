"""Profiles: how the service behaves where the interface leaves it open, as records of data.

The settings choose one profile at the start. The stations receive its parts and never ask for its
name.
"""
