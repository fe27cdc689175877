"""Texts as literals of SQL."""


def quoted(text: str) -> str:
    """A text as a literal that means the same whatever the settings of the session."""
    return f"""E'{text.replace(chr(92), 2 * chr(92)).replace("'", "''")}'"""
