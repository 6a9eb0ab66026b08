"""From counts to estimates."""
