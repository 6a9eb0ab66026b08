"""Where the events of campaigns are kept: SQLite by default, PostgreSQL by URL."""
