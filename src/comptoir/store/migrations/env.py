"""Alembic's environment: runs revisions on the connection of `comptoir.store.revisions`."""

from alembic import context

from comptoir.store.revisions import is_declared, spelled_type

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=context.config.attributes["metadata"],
    render_as_batch=True,
    render_item=spelled_type,
    include_name=is_declared,
)
with context.begin_transaction():
    context.run_migrations()
