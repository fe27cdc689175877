"""How to answer: rows to bytes, tags, links, errors."""
