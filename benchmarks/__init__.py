"""Speed against peers, as ratios measured in one run: ``make bench``.

Every figure is the best of several repetitions, ours and the peer's taken in turn in one process, on one core.
"""
