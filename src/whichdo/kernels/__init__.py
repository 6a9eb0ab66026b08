"""The compiled functions that several rooms share: arrays in, arrays out.

Importing this loads numba, so other modules do it late.
"""

from whichdo.kernels.binary import rows_binary, tables_binary
from whichdo.kernels.codes import rows_codes, tables_codes
from whichdo.kernels.compiling import compiled, popcount
from whichdo.kernels.plans import BLOCK, BinaryPlan, CodePlan
from whichdo.kernels.random import ROWS, TABLES, keyed_streams, seed_streams
from whichdo.kernels.rewards import RewardStreams, pull_all, reward_streams

__all__ = [
    "BLOCK",
    "ROWS",
    "TABLES",
    "BinaryPlan",
    "CodePlan",
    "RewardStreams",
    "compiled",
    "keyed_streams",
    "popcount",
    "pull_all",
    "reward_streams",
    "rows_binary",
    "rows_codes",
    "seed_streams",
    "tables_binary",
    "tables_codes",
]
