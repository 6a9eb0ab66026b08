"""Is the graph right, and what if one edge is wrong?"""
