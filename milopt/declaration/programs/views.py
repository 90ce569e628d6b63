"""Conversion of a program to other forms: summary, LaTeX, files, cvxpy and Pyomo.

The modules for these forms are imported when they are needed.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import cvxpy
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pyomo.environ import ConcreteModel

    from milopt.compilation.compile_program import FormName, WitnessChoice
    from milopt.compilation.entry_sides import AtomSides
    from milopt.compilation.features import Feature
    from milopt.compilation.standard_form import StandardForm
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import SemiInfinite

    Path = str | PathLike[str]
    """Path of a file."""


class ProgramViews:
    """Mixin class with the methods that display or export a program.

    Methods with the parameters `form` and `witnesses` use the standard form of the program (`StandardForm`), which a
    solver gets: min 1/2 x'Px + q'x s.t. Fx + g in K, in scalar variables. A program is DC (difference of convex
    functions) if it needs a lower bound on a convex atom. In the standard form, a maximum that needs a lower bound is
    replaced by its value at the given witness (one instance per bag), or by the mean over the bag.
    """

    # -- properties --------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """Kind of the program: LP, QP, SOCP, exponential cone program, these with integers (such as MILP), or DC.

        DC stands for a difference of convex functions: the program needs a lower bound on a convex atom.
        """
        from milopt.compilation.kind import program_kind

        return program_kind(self._program)

    @property
    def default_scheme(self) -> str:
        """Name of the default scheme: the convex-concave procedure ("ccp") for a DC program, else "direct"."""
        from milopt.compilation.sides import other_side_atoms

        return "ccp" if other_side_atoms(self._program) else "direct"

    def features(self) -> frozenset[Feature]:
        """Return the features that a solver must support besides cones, such as integers or a quadratic objective.

        Returns
        -------
        frozenset of Feature
            For a DC program, the features of each convex step.
        """
        from milopt.compilation.kind import required_features

        return required_features(self._program)

    def cones(self) -> frozenset[str]:
        """Return the names of the cones that a solver must support besides linear rows.

        Returns
        -------
        frozenset of str
            Names of the cones.
        """
        from milopt.compilation.kind import required_cones

        return required_cones(self._program)

    def atom_sides(self) -> tuple[AtomSides, ...]:
        """Return on which side each entry of each atom is needed: from above (its convex side) or from below.

        Returns
        -------
        tuple of AtomSides
            One element per occurrence of an atom, also inside other atoms; quadratic terms of the objective have none.
        """
        from milopt.compilation.sides import atom_sides

        return atom_sides(self._program)

    def summary(self) -> str:
        """Return a summary of the program as text.

        It lists blocks, atoms and their sides, sizes, ranges of coefficients, and warnings. No large kernel is
        evaluated.

        Returns
        -------
        str
            The summary.
        """
        from milopt.inspection.summary import summarise

        return str(summarise(self._program))

    # -- standard form -----------------------------------------------------------------------------------------------

    def to_standard_form(self, form: FormName = "primal", witnesses: WitnessChoice = None) -> StandardForm:
        """Return the standard form of the program, as a solver would get it.

        Parameters
        ----------
        form : {"primal", "dual"}, default="primal"
            Standard form of the program itself, or of its dual.
        witnesses : mapping, Result or None, default=None
            For a DC program: mapping from a maximum to its witnesses, one index of an instance per bag, or a result
            that has witnesses. A maximum without witnesses is replaced by the mean over the bag.

        Returns
        -------
        StandardForm
            Program min 1/2 x'Px + q'x s.t. Fx + g in K, lower <= x <= upper.
        """
        from dataclasses import replace

        from milopt.compilation.compile_program import compile_program
        from milopt.inspection.witness_notes import witness_notes

        compiled = compile_program(self._program, form, witnesses).form
        return replace(compiled, notes=witness_notes(self._program, witnesses), labels=self._program.labels)

    def to_lp(self, path: Path | None = None, *, form: FormName = "primal", witnesses: WitnessChoice = None) -> str:
        """Return the standard form of the program as LP text.

        Parameters
        ----------
        path : str, path-like or None, default=None
            File to which the text is also written.
        form : {"primal", "dual"}, default="primal"
            Standard form of the program itself, or of its dual.
        witnesses : mapping, Result or None, default=None
            For a DC program: mapping from a maximum to its witnesses, one index of an instance per bag, or a result
            that has witnesses. A maximum without witnesses is replaced by the mean over the bag.

        Returns
        -------
        str
            Text of the LP file.
        """
        from milopt.inspection.lp_file import write_lp

        return _write_if_requested(write_lp(self.to_standard_form(form, witnesses)), path)

    def to_mps(self, path: Path | None = None, *, form: FormName = "primal", witnesses: WitnessChoice = None) -> str:
        """Return the standard form of the program as free MPS text.

        Parameters
        ----------
        path : str, path-like or None, default=None
            File to which the text is also written.
        form : {"primal", "dual"}, default="primal"
            Standard form of the program itself, or of its dual.
        witnesses : mapping, Result or None, default=None
            For a DC program: mapping from a maximum to its witnesses, one index of an instance per bag, or a result
            that has witnesses. A maximum without witnesses is replaced by the mean over the bag.

        Returns
        -------
        str
            Text of the MPS file.
        """
        from milopt.inspection.mps_file import write_mps

        return _write_if_requested(write_mps(self.to_standard_form(form, witnesses)), path)

    def to_cbf(self, path: Path | None = None, *, form: FormName = "primal", witnesses: WitnessChoice = None) -> str:
        """Return the standard form of the program in the Conic Benchmark Format.

        Parameters
        ----------
        path : str, path-like or None, default=None
            File to which the text is also written.
        form : {"primal", "dual"}, default="primal"
            Standard form of the program itself, or of its dual.
        witnesses : mapping, Result or None, default=None
            For a DC program: mapping from a maximum to its witnesses, one index of an instance per bag, or a result
            that has witnesses. A maximum without witnesses is replaced by the mean over the bag.

        Returns
        -------
        str
            Text of the CBF file.
        """
        from milopt.inspection.cbf_file import write_cbf

        return _write_if_requested(write_cbf(self.to_standard_form(form, witnesses)), path)

    def spy(
        self, target: Path | Axes | None = None, *, form: FormName = "primal", witnesses: WitnessChoice = None
    ) -> Figure:
        """Plot the sparsity pattern of the standard form of the program.

        Parameters
        ----------
        target : str, path-like, matplotlib.axes.Axes or None, default=None
            File to write, or axes to draw into. None only returns the figure, which a notebook shows.
        form : {"primal", "dual"}, default="primal"
            Standard form of the program itself, or of its dual.
        witnesses : mapping, Result or None, default=None
            For a DC program: mapping from a maximum to its witnesses, one index of an instance per bag, or a result
            that has witnesses. A maximum without witnesses is replaced by the mean over the bag.

        Returns
        -------
        matplotlib.figure.Figure
            Figure with the plot.
        """
        from milopt.inspection.sparsity import spy

        return spy(self.to_standard_form(form, witnesses), target)

    def to_cvxpy(self, *, form: FormName = "primal", witnesses: WitnessChoice = None) -> cvxpy.Problem:
        """Return the standard form of the program as a cvxpy problem.

        Parameters
        ----------
        form : {"primal", "dual"}, default="primal"
            Standard form of the program itself, or of its dual.
        witnesses : mapping, Result or None, default=None
            For a DC program: mapping from a maximum to its witnesses, one index of an instance per bag, or a result
            that has witnesses. A maximum without witnesses is replaced by the mean over the bag.

        Returns
        -------
        cvxpy.Problem
            Problem whose variables and constraints have the names of the blocks.
        """
        from milopt.inspection.cvxpy_model import to_cvxpy

        return to_cvxpy(self.to_standard_form(form, witnesses)).problem

    def to_pyomo(self, *, form: FormName = "primal", witnesses: WitnessChoice = None) -> ConcreteModel:
        """Return the standard form of the program as a Pyomo model.

        Parameters
        ----------
        form : {"primal", "dual"}, default="primal"
            Standard form of the program itself, or of its dual.
        witnesses : mapping, Result or None, default=None
            For a DC program: mapping from a maximum to its witnesses, one index of an instance per bag, or a result
            that has witnesses. A maximum without witnesses is replaced by the mean over the bag.

        Returns
        -------
        pyomo.environ.ConcreteModel
            Model whose components have the names of the blocks.
        """
        from milopt.inspection.pyomo_model import to_pyomo

        return to_pyomo(self.to_standard_form(form, witnesses))

    # -- text --------------------------------------------------------------------------------------------------------

    def to_latex(self, path: Path | None = None) -> str:
        """Return the program in block form as LaTeX.

        Parameters
        ----------
        path : str, path-like or None, default=None
            File to which the text is also written.

        Returns
        -------
        str
            An `aligned` environment.
        """
        from milopt.inspection.latex import to_latex

        return _write_if_requested(to_latex(self._program), path)

    def _repr_latex_(self) -> str:
        """Return the LaTeX formula that Jupyter displays."""
        return f"$${self.to_latex()}$$"

    def _repr_html_(self) -> str:
        """Return the formula and, below it, the summary as the HTML text that Jupyter displays."""
        from milopt.inspection.summary import summarise

        return summarise(self._program).html(f"$${self.to_latex()}$$")

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        own = self._program
        counts = [
            _pluralise(len(blocks), word)
            for blocks, word in (
                (own.variables, "variable block"),
                (own.functions, "function"),
                (own.parameters, "parameter"),
                (own.constraints, "constraint block"),
            )
            if blocks
        ]
        return f"Program({own.name!r}: {', '.join(counts) or 'empty'})"

    @property
    def _program(self) -> Program:
        """The program itself, as a `Program` for the type checker."""
        return cast("Program", self)


def semi_infinite_latex(problem: SemiInfinite) -> str:
    """Return a semi-infinite program as LaTeX: the master with its family of rows, and the set of columns."""
    from milopt.inspection.latex_line import align_lines
    from milopt.inspection.latex_semi_infinite import semi_infinite_lines
    from milopt.inspection.symbolic_latex import lines_with_symbols

    return align_lines(lines_with_symbols(problem, semi_infinite_lines))


def _write_if_requested(text: str, path: Path | None) -> str:
    """Write a text to a file if a path is given, and return the text."""
    if path is not None:
        from milopt.files import write_text

        write_text(path, text)
    return text


def _pluralise(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural, such as "2 functions"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
