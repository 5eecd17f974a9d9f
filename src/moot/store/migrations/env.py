"""Run by Alembic: applies migrations on the connection that `schema.upgrade` hands over."""

from alembic import context

from moot.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table="debate_schema",
    include_name=lambda name, kind, _: kind != "table" or str(name).startswith("debate_"),
    transactional_ddl=False,  # the transaction is ours, around all of it
)
context.run_migrations()
