"""Entity tags (RFC 9110, 8.8.3): weak, one per version of a record.

A tag is made of the company's incarnation, which changes when a backup is restored, and the
number of the record's last change.
"""

from comptoir.plan.target import Company


def opaque_tag(company: Company | None, version: str | int) -> str:
    """What stands between a tag's quotes; a record above the companies carries it as version."""
    return f"{company.incarnation}.{version}" if company else str(version)


def entity_tag(company: Company | None, version: str | int) -> str:
    """The tag as headers and `@odata.etag` carry it."""
    return f'W/"{opaque_tag(company, version)}"'
