"""Policies side by side: on which network, at which horizons, with which regret."""
