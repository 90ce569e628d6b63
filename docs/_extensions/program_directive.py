"""Sphinx directive `milopt-program`: the program of a registered model in mathematics, from its own declaration.

    .. milopt-program:: mi-svm

The model declares its program on six small bags, and `to_latex` of the program is shown. A semi-infinite program has
several parts, a master and oracles; each part gets a line with its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import SemiInfinite
    from milopt.estimator import BagClassifier

LABELS = (-1, 1, -1, 1, -1, 1)
"""Labels of the bags of the example."""
INSTANCES_PER_BAG = 3


def example_program(name: str) -> Program | SemiInfinite:
    """Return the program that a registered model declares on six bags of three random points in the plane."""
    from milopt.model_registry import get_model

    bags = list(np.random.default_rng(0).uniform(size=(len(LABELS), INSTANCES_PER_BAG, 2)))
    make: Callable[..., BagClassifier] = get_model(name)
    return make().program(bags, LABELS)


class ProgramDirective(SphinxDirective):
    """Show the program of a registered model, or one part of it, as a formula."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"part": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return one formula per part of the program, with the name of the part above it if there are several."""
        parts = example_program(self.arguments[0]).parts
        only = self.options.get("part")
        if only is not None and only not in parts:
            raise self.error(f"{self.arguments[0]} has the parts {', '.join(parts)}, not {only}")
        shown = nodes.container(classes=["program"])
        for name, part in parts.items():
            if only not in (None, name):
                continue
            if len(parts) > 1 and only is None:
                shown += nodes.paragraph("", "", nodes.strong("", name))
            text = part.to_latex()
            formula = nodes.math_block(text, text, nowrap=False, number=None, label=None)
            self.set_source_info(formula)
            shown += formula
        return [shown]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("milopt-program", ProgramDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
