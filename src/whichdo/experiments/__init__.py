"""The paper's five experiments, three of our own, and Lee and Bareinboim's; `whichdo.experiments.reproduce` runs them.

experiment    what an experiment is: panels, points, networks, runs, policies
paper, ours   Experiments 1 to 8, as data
where_to_intervene  Experiment 9, with the claims about it
cells         the unit of work: one network of one panel
journal       cells that are done, kept so that a killed run goes on where it stopped
executors     who does the work: processes here, or a Dask cluster
results       the tidy table of all cells, and its means
claims        statements about the results, each judged by a test
figures       one figure for each experiment
reproduce     all of it in order
"""
