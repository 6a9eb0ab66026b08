"""Figures: the one room that draws with matplotlib.  Numbers and labels in, a figure out."""
