"""Pages that say what was found: of a file, a campaign, a reproduction."""
