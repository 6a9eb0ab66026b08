"""What 600 pulls can tell of old logs: how often an arm close to the best is named by somebody who is told more.

``python -m benchmarks.old_logs`` prints, for the two families whose logs are old, how often the best arm and one within
.03 of it are named by

sr             successive rejects, without graph and logs;
the rivals     successive rejects told which arms to compare (`benchmarks.robustness.knowing`);
what changed   somebody told which two arms have changed most since the logs, who knows all others as they are today:
               half the pulls for each of the two, then the largest mean, logs counting for 20 pulls.

Nobody tells a policy which arms to compare or which have changed, so the last two are more than pulls alone can do.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.robustness import CLOSE, HORIZONS, KNOWING, Array, knowing, rejected
from whichdo.estimate.doubt import CHANGED
from whichdo.world.instances import planted

if TYPE_CHECKING:
    from whichdo.arrays import IntArray
    from whichdo.world.instances import Planted

PULLS = HORIZONS[1]


def free(world: Planted, rng: np.random.Generator) -> Array:
    """Successive rejects on all arms."""
    arms = rng.permutation(len(world.means))
    return _shares(world, rejected(world.means[arms], PULLS, rng, arms))


def told_what_changed(world: Planted, rng: np.random.Generator) -> Array:
    """Half the pulls for each of the two arms that have changed most."""
    pair = np.argsort(-np.abs(world.claims - world.means))[:2]
    wins = rng.binomial(PULLS // 2, world.means[pair], (KNOWING, 2))
    found = np.tile(world.means, (KNOWING, 1))
    found[:, pair] = (wins + CHANGED * world.claims[pair]) / (PULLS // 2 + CHANGED)
    return _shares(world, np.argmax(found, axis=1))


def _shares(world: Planted, named: IntArray) -> Array:
    behind = world.means.max() - world.means[named]
    return np.array([(behind < 1e-9).mean(), (behind <= CLOSE).mean()])


def main() -> None:
    """Print a line for each family."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--worlds", type=int, default=200)
    asked.add_argument("--seed", type=int, default=970)
    options = asked.parse_args()
    rng = np.random.default_rng(options.seed)
    for family in ("shifted-baseline", "shifted-mechanism"):
        worlds = planted(family, options.worlds, options.seed)
        columns = {
            "sr": [free(world, rng) for world in worlds],
            "the rivals": [knowing(world, PULLS, rng) for world in worlds],
            "what changed": [told_what_changed(world, rng) for world in worlds],
        }
        shares = {name: np.mean(found, axis=0) for name, found in columns.items()}
        told = ", ".join(f"{name} {best:.2f} / {close:.2f}" for name, (best, close) in shares.items())
        print(f"{family} (best / close): {told}")


if __name__ == "__main__":
    main()
