"""The PostgreSQL server of the campaigns' tests serves here too."""

from __future__ import annotations

from tests.campaign.conftest import new_server_database, server

__all__ = ["new_server_database", "server"]
