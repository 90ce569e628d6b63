"""Inspect the program of a model: summary, LaTeX, supported solvers, LP file and sparsity plot.

python examples/inspect_model.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import highspy

from milopt import explain, load_data
from milopt.models import MILES

data = load_data("musk1")
program = MILES(lam=0.05).program(data.bags, data.labels)

print(program.summary())
print(program.to_latex())
print(explain(program))

with TemporaryDirectory() as folder:
    path = Path(folder) / "miles.lp"
    text = program.to_lp(path)
    print("\n".join(line[:100] for line in text.splitlines()[:6]))
    # HiGHS reads the file without milopt: the optimum and the names are the same.
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    highs.run()
    print(f"read by HiGHS without milopt: {highs.getObjectiveValue():.8f}, first column {highs.getColName(0)[1]}")
    program.spy(Path(folder) / "miles.png")
