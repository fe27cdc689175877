"""Authentication and authorization: keys, tokens, principals, scopes."""
