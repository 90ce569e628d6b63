"""
Critical differences of ranks
=============================

Mean ranks of three models on five data sets of one kind, drawn from five seeds. A bar joins models whose ranks do
not differ significantly by the test of Nemenyi. With so few data sets, the critical difference is large.
"""

from dataclasses import replace

import milopt
from milopt.data import toy_bags
from milopt.display import CriticalDifferenceDisplay

reports = []
for seed in range(5):
    data = replace(toy_bags("spanning", bags=30, seed=seed), name=f"seed {seed}")
    report = milopt.evaluate(data, ["set-kernel-svm", "ls-svm", "miles"], "1x3", solver="clarabel", grid={})
    reports.append(report.as_dict())
CriticalDifferenceDisplay.from_ranking(milopt.rank(reports))
