"""From a graph to a formula: which effects can be computed from which rows, how, and why not."""
