"""The paper's five experiments and three of our own, as data; `whichdo.experiments.reproduce` runs them.

experiment    what an experiment is: panels, points, networks, runs, policies
paper, ours   the eight experiments
cells         the unit of work: one network of one panel
journal       cells that are done, kept so that a killed run goes on where it stopped
executors     who does the work: processes here, or a Dask cluster
results       the tidy table of all cells, and its means
claims        statements about the results, each judged by a test
figures       one figure for each experiment
reproduce     all of it in order
"""
