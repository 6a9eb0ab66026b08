"""Campaigns: ask, tell and recommend over weeks, losing nothing."""
