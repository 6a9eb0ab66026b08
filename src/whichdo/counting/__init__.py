"""From rows to tables of counts."""
