"""Pictures of causal graphs, drawn without any dependency."""
