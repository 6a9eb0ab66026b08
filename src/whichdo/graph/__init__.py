"""Causal graphs: structure, projection, identification, formats."""
