"""The graph as a picture (SVG) and as lines of text."""
