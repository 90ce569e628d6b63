"""Summary of a program: blocks, sides of its atoms, sizes, coefficient ranges and warnings.

All information comes from the declaration and the evaluation form, so that no full Gram matrix is computed. The maxima
of a DC program are replaced by bag means for this purpose. The coefficient ranges are those of variables and of
evaluations f(x) of functions, not of the coordinates that solvers get for the functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from milopt.compilation.evaluation_form import EvaluationForm, LoweredBlock
from milopt.compilation.kind import convex_step_kind, program_kind
from milopt.compilation.lowering_attempt import try_lower
from milopt.compilation.program_curvature import judge_program_convexity, nonconvexity_reason
from milopt.cones import CONES
from milopt.declaration.programs.expression_text import format_expression
from milopt.declaration.programs.program import Program
from milopt.errors import MiloptError
from milopt.html import Html, element, notes, view
from milopt.inspection.blocks import atom_table, constraint_table, function_table, parameter_table, variable_table
from milopt.inspection.ranges import CoefficientRange, coefficient_ranges
from milopt.table import Table


@dataclass(frozen=True)
class Summary:
    """Summary of a program.

    Attributes
    ----------
    headline : str
        Name, kind and objective of the program.
    tables : tuple of Table
        Variables, functions, parameters, constraints, atoms, sizes and coefficient ranges.
    warnings : tuple of str
        Sentences about possible problems.
    """

    headline: str
    tables: tuple[Table, ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        parts = [self.headline, *(str(table) for table in self.tables)]
        if self.warnings:
            parts.append("\n".join(["warnings", *(f"  {warning}" for warning in self.warnings)]))
        return "\n\n".join(parts)

    def html(self, formula: str = "") -> Html:
        """Return the summary as HTML for a notebook.

        Parameters
        ----------
        formula : str, default=""
            LaTeX of the program, between dollar signs, which the notebook typesets above the tables.

        Returns
        -------
        Html
            HTML with all texts escaped.
        """
        warnings = [f"Warning: {warning}" for warning in self.warnings]
        tables = [table.html() for table in self.tables]
        return view(
            element("p", element("b", self.headline)),
            *([element("div", formula)] if formula else []),
            *tables,
            notes(warnings),
        )


def summarise(program: Program) -> Summary:
    """Return the summary of a program; information that cannot be computed is replaced by a warning."""
    low = try_lower(program)
    tables = [
        variable_table(program),
        function_table(program),
        parameter_table(program),
        constraint_table(program, low.form),
    ]
    warnings: list[str] = []
    try:
        tables.append(atom_table(program))
        word = _describe_kind(program)
    except MiloptError as error:
        word = "kind unknown"
        warnings.append(str(error))
    if low.form is not None:
        ranges = coefficient_ranges(low.form)
        tables += [size_table(low.form), range_table(ranges)]
        warnings += [entry.warning() for entry in ranges if entry.is_wide]
    elif low.reason not in warnings:
        warnings.append(f"Sizes and ranges are not available: {low.reason.rstrip('.')}.")
    curvature = nonconvexity_reason(judge_program_convexity(program))
    if curvature:
        warnings.append(curvature)
    verb = "maximise" if program.maximizes else "minimise"
    headline = f"{program.name}: {word}, {verb} {format_expression(program.objective)}"
    return Summary(headline, tuple(table for table in tables if table.rows), tuple(warnings))


def size_table(form: EvaluationForm) -> Table:
    """Return the table of rows, columns, nonzeros and cones of the evaluation form."""
    rows = [("rows", str(form.rows.count), "all epigraph rows included")]
    rows.append(("columns", str(form.n), f"{int(form.integer.sum())} of them integer" if form.integer.any() else ""))
    for space, e in zip(form.spaces, form.rows.E, strict=True):
        name = space.function.name
        rows.append((f"evaluations of {name}", str(space.count), f"{e.nnz} non-zeros; at most as many coordinates"))
    rows.append(("non-zeros", str(form.rows.A.nnz), "of the columns in the rows"))
    squares = len(form.objective.squares) + sum(1 for ridge in form.objective.ridge if ridge)
    if squares:
        rows.append(("squares in the objective", str(squares), ""))
    for cone in CONES.values():
        blocks = [block for block in form.blocks if block.cone is cone]
        if blocks and cone.is_polyhedral:
            rows.append((f"{cone.name} rows", str(sum(block.count for block in blocks)), ""))
        elif blocks:
            count = sum(block.cone_sizes.size for block in blocks)
            sizes = ", ".join(f"{b.name} {_format_cone_sizes(b)}{_function_suffix(form, b.space)}" for b in blocks)
            rows.append((f"{cone.display_name}s", str(count), f"rows each: {sizes}"))
    return Table("sizes", ("what", "count", "remark"), tuple(rows), frozenset({"count"}))


def range_table(entries: tuple[CoefficientRange, ...]) -> Table:
    """Return the table of coefficient ranges."""
    rows = tuple((r.kind, f"{r.smallest:.3g}", f"{r.largest:.3g}", f"{r.ratio:.1e}") for r in entries)
    return Table(
        "coefficients", ("of", "smallest", "largest", "ratio"), rows, frozenset({"smallest", "largest", "ratio"})
    )


def _format_cone_sizes(block: LoweredBlock) -> str:
    """Return the number of rows per cone: "4", "5 x 3" for five cones of 3 rows, or "5 x 2 to 9"."""
    sizes = block.cone_sizes
    each = str(sizes.min(initial=block.count))
    if sizes.size and sizes.min() < sizes.max():
        each += f" to {sizes.max()}"
    return each if sizes.size <= 1 else f"{sizes.size} x {each}"


def _function_suffix(form: EvaluationForm, space: int | None) -> str:
    """Return " and f" for the function f whose norm belongs to the cone, or "" if there is none (`space` is None)."""
    return "" if space is None else f" and {form.spaces[space].function.name}"


def _describe_kind(program: Program) -> str:
    """Return the kind of the program as text; for a DC program, with the kind of its convex steps."""
    word = program_kind(program)
    return f"DC (each convex step is of kind {convex_step_kind(program)})" if word == "DC" else word
