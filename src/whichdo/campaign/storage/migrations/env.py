"""What alembic runs: the migrations, on the connection it is given, within the transaction that is open there."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table="whichdo_version")
context.run_migrations()
