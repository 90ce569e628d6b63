"""Sphinx directive `milopt-program`: the program of a registered model in mathematics, from its own declaration.

    .. milopt-program:: mi-svm

The model declares its program on six small bags, and `to_latex` of the program is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import SemiInfinite
    from milopt.estimator import BagClassifier

LABELS = (-1, 1, -1, 1, -1, 1)
"""Labels of the bags of the example."""
INSTANCES_PER_BAG = 3

_ALIGNED = re.compile(r"\\begin\{aligned\}.*?\\end\{aligned\}", re.DOTALL)


def example_program(name: str) -> Program | SemiInfinite:
    """Return the program that a registered model declares on six bags of three random points in the plane."""
    from milopt.model_registry import get_model

    bags = list(np.random.default_rng(0).uniform(size=(len(LABELS), INSTANCES_PER_BAG, 2)))
    make: Callable[..., BagClassifier] = get_model(name)
    return make().program(bags, LABELS)


def formulas_of(latex: str) -> list[str]:
    """Return the `aligned` environments of the LaTeX of a program; a program may have several parts."""
    return _ALIGNED.findall(latex)


class ProgramDirective(SphinxDirective):
    """Show the program of a registered model."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the formulas of the program, in a container whose font the style sheet makes smaller."""
        shown = nodes.container(classes=["program"])
        for text in formulas_of(example_program(self.arguments[0]).to_latex()):
            formula = nodes.math_block(text, text, nowrap=False, number=None, label=None)
            self.set_source_info(formula)
            shown += formula
        return [shown]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("milopt-program", ProgramDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
