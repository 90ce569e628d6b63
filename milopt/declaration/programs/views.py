"""What a program can show of itself; each method imports what it needs when it is called."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import cvxpy
    from matplotlib.axes import Axes
    from pyomo.environ import ConcreteModel

    from milopt.compilation.compile_program import FormName, WitnessChoice
    from milopt.compilation.entry_sides import Side
    from milopt.compilation.features import Feature
    from milopt.compilation.standard_form import StandardForm
    from milopt.declaration.programs.program import Program

    Path = str | PathLike[str]


class Views:
    """The looking side of a program.

    Methods with `form` and `witnesses` show the flat program with all its rows: in coordinates, or its dual; a DC
    program at the given witnesses (flat indices by maximum, or a result), bag means by default.
    """

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """LP, QP, SOCP, MILP, MIQP, MISOCP; or DC, when a bag_max needs witnesses."""
        from milopt.compilation.kind import kind

        return kind(self._program)

    @property
    def default_scheme(self) -> str:
        """The convex-concave procedure for a DC program, one direct solve for any other."""
        from milopt.compilation.sides import on_other_side

        return "ccp" if on_other_side(self._program) else "direct"

    def features(self) -> frozenset[Feature]:
        """What a solver must take besides cones: of each convex step, for a DC program."""
        from milopt.compilation.kind import features

        return features(self._program)

    def cones(self) -> frozenset[str]:
        """Return the names of the cones that a solver must take besides linear rows."""
        from milopt.compilation.kind import block_cones

        return block_cones(self._program)

    def sides(self) -> tuple[Side, ...]:
        """On which side each entry of each bag_max stands, place by place."""
        from milopt.compilation.sides import sides

        return sides(self._program)

    def summary(self) -> str:
        """Blocks, atoms and their sides, sizes, coefficient ranges and warnings, as text; evaluates no large kernel."""
        from milopt.inspection.summary import summarise

        return str(summarise(self._program))

    # -- flat --------------------------------------------------------------------------------------------------------

    def to_standard_form(self, form: FormName = "coordinates", witnesses: WitnessChoice = None) -> StandardForm:
        """The flat program that a solver would get."""
        from dataclasses import replace

        from milopt.compilation.compile_program import compile_program
        from milopt.inspection.witness_notes import witness_notes

        flat = compile_program(self._program, form, witnesses).form
        return replace(flat, notes=witness_notes(self._program, witnesses), labels=self._program.labels)

    def to_lp(
        self, path: Path | None = None, *, form: FormName = "coordinates", witnesses: WitnessChoice = None
    ) -> str:
        """LP text, also written to `path` where one is given."""
        from milopt.inspection.lp_file import write_lp

        return _kept(write_lp(self.to_standard_form(form, witnesses)), path)

    def to_mps(
        self, path: Path | None = None, *, form: FormName = "coordinates", witnesses: WitnessChoice = None
    ) -> str:
        """Free MPS text, also written to `path` where one is given."""
        from milopt.inspection.mps_file import write_mps

        return _kept(write_mps(self.to_standard_form(form, witnesses)), path)

    def to_cbf(
        self, path: Path | None = None, *, form: FormName = "coordinates", witnesses: WitnessChoice = None
    ) -> str:
        """Conic Benchmark Format text, also written to `path` where one is given."""
        from milopt.inspection.cbf_file import write_cbf

        return _kept(write_cbf(self.to_standard_form(form, witnesses)), path)

    def spy(self, target: Path | Axes, *, form: FormName = "coordinates", witnesses: WitnessChoice = None) -> Axes:
        """Draw where the flat program has its numbers, into a file or into a matplotlib Axes."""
        from milopt.inspection.sparsity import spy

        return spy(self.to_standard_form(form, witnesses), target)

    def to_cvxpy(self, *, form: FormName = "coordinates", witnesses: WitnessChoice = None) -> cvxpy.Problem:
        """The flat program as a cvxpy problem; variables and constraints keep the blocks' names."""
        from milopt.inspection.cvxpy_model import to_cvxpy

        return to_cvxpy(self.to_standard_form(form, witnesses)).problem

    def to_pyomo(self, *, form: FormName = "coordinates", witnesses: WitnessChoice = None) -> ConcreteModel:
        """The flat program as a Pyomo model; components keep the blocks' names."""
        from milopt.inspection.pyomo_model import to_pyomo

        return to_pyomo(self.to_standard_form(form, witnesses))

    # -- readable ----------------------------------------------------------------------------------------------------

    def to_latex(self, path: Path | None = None) -> str:
        """The program in block form, as an `aligned` environment, also written to `path` where one is given."""
        from milopt.inspection.latex import to_latex

        return _kept(to_latex(self._program), path)

    def _repr_latex_(self) -> str:
        return f"$${self.to_latex()}$$"

    def _repr_html_(self) -> str:
        from milopt.inspection.summary import summarise

        return summarise(self._program).html()

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        own = self._program
        counts = [
            _counted(len(blocks), word)
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
        return cast("Program", self)


def _kept(text: str, path: Path | None) -> str:
    if path is not None:
        from milopt.files import write_text

        write_text(path, text)
    return text


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
