"""Studies: what is built on simulated runs, and the folders that keep it.

One vocabulary for "several runs":

run
    One scheduler on one workload with one seed, or one live run of the service.
comparison
    Several schedulers on the same tasks over several seeds (`compare`); its result states a verdict.
experiment
    A prepared question with its own workloads and measures (`experiments`), such as the response to a shift.
sweep
    A grid of comparisons, collected in one table (`sweep`).
suite
    Every policy on every instance of a directory (`suite`), summarised on a scoreboard (`scoreboard`).
"""
