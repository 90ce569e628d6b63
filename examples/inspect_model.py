"""What did my model become? The blocks, the mathematics, the file that a solver reads, and the picture of it.

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
    # HiGHS alone, with no milopt between: the same optimum under the same names.
    alone = highspy.Highs()
    alone.setOptionValue("output_flag", False)
    alone.readModel(str(path))
    alone.run()
    print(f"read back by HiGHS alone: {alone.getObjectiveValue():.8f}, first column {alone.getColName(0)[1]}")
    program.spy(Path(folder) / "miles.png")
