"""The truth behind a simulation: networks, their exact means, and samples from them.  No policy imports this."""
