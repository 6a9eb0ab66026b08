"""Is the graph right, and what if one edge is wrong?

`whichdo.check` asks the logs whether they deny what the graph says about them.  The parts that every
question of this kind needs are named here: what a graph implies (`implied_statements`), and whether
counts deny it (`check_statements`).
"""

from whichdo.estimate.statements import Tested, adjusted_chances, check_statements, statement_cells
from whichdo.graph.separation import Implied, Statement, implied_statements

__all__ = [
    "Implied", "Statement", "Tested", "adjusted_chances", "check_statements", "implied_statements", "statement_cells",
]  # fmt: skip
