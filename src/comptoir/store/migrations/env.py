"""Alembic's environment: runs revisions on the connection that `comptoir.store.migrate` opens."""

from alembic import context

from comptoir.store.migrate import is_declared

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=context.config.attributes["metadata"],
    render_as_batch=True,
    include_name=is_declared,
)
with context.begin_transaction():
    context.run_migrations()
