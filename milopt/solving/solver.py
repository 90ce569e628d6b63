"""Base class of solvers: name, supported programs, availability, and an engine for flat programs.

A new solver is one file with a subclass and one entry point in the group `milopt.solvers`:

    class Clarabel(Solver):
        name = "clarabel"
        features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
        cones = frozenset({"second-order"})
        package = "clarabel"
        licence = "Apache-2.0"

        def engine(self, form: StandardForm, options: Options) -> Engine: ...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from milopt.compilation.features import Feature
from milopt.compilation.form_choice import FormRequest
from milopt.compilation.standard_form import StandardForm
from milopt.solving.engine import Engine
from milopt.solving.installed import installed_version
from milopt.solving.options import Options

if TYPE_CHECKING:
    from milopt.compilation.evaluation_form import EvaluationForm
    from milopt.declaration.bags.bags import Bags
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import Oracle
    from milopt.solving.form_engine import FormEngine
    from milopt.solving.pricing import Pricing
    from milopt.solving.profile import Profile


@dataclass(frozen=True)
class Availability:
    """Whether a solver is installed, found without importing its package.

    Parameters
    ----------
    installed : bool
        Whether the solver can be used.
    version : str or None, default=None
        Version of the package.
    install : str or None, default=None
        Command that installs the package.
    reason : str or None, default=None
        Why the solver cannot be loaded, if the cause is not a missing package.
    """

    installed: bool
    version: str | None = None
    install: str | None = None
    reason: str | None = None

    @classmethod
    def of_package(cls, package: str, extra: str = "") -> Availability:
        """Return the availability of a solver that needs one package.

        `extra` is the extra of milopt that installs the package, if there is one.
        """
        version = installed_version(package)
        target = f"'milopt[{extra}]'" if extra else package
        return cls(True, version) if version is not None else cls(False, None, f"pip install {target}")


class Solver(ABC):
    """Base class of solvers.

    A solver has no state; each of its engines holds one program.

    Attributes
    ----------
    name : str
        Name under which the solver is registered.
    features : frozenset of Feature
        Features of programs that the solver supports.
    cones : frozenset of str
        Names of the cones (`milopt.cones`) that it supports besides linear rows, if no variable is integer.
    integer_cones : frozenset of str
        Names of the cones that it supports if some variables are integer.
    package : str
        Name of the distribution that contains the solver, as used by pip.
    extra : str
        Extra of milopt that installs the distribution; empty if there is none.
    licence : str
        Licence of the solver.
    remark : str
        What users should know before they install it.
    preferred_form : {"dual", "primal"}
        Form in which the solver prefers to get functions of a kernel space, if both forms are possible.
    max_eager_rows : int
        Number of epigraph rows up to which the solver gets all rows at once. If there are more, rows are added lazily.
    supports_warm_start : bool
        Whether a changed program is solved from the last solution.
    compiles_on_first_use : bool
        Whether its algorithms are compiled when they are first used on a machine, so that the first solve takes longer.
    recognises_patterns : bool
        Whether it supports only programs of certain patterns. A few lazy rows may hide a pattern, so support is checked
        with a sample of all rows.
    time_limit_note : str
        What happens at a time limit if the solver does not check the clock itself; otherwise empty.

    Examples
    --------
    >>> import milopt
    >>> from milopt.solving.solver import Solver
    >>> solver = milopt.get_solver("clarabel")
    >>> isinstance(solver, Solver)
    True
    >>> "second-order" in solver.cones
    True
    """

    name: str
    features: frozenset[Feature]
    cones: frozenset[str] = frozenset()
    integer_cones: frozenset[str] = frozenset()
    package: str
    extra: ClassVar[str] = ""
    licence: str = "unknown"
    remark: ClassVar[str] = ""
    preferred_form: ClassVar[str] = "dual"

    def requires_dual(self, form: EvaluationForm) -> bool:
        """Return True if the solver supports programs with functions only in dual form; by default False.

        The dual form is then used, if the program has one, even if coordinates by features would be smaller.

        Parameters
        ----------
        form : EvaluationForm
            The program.

        Returns
        -------
        bool
        """
        return False

    def availability(self) -> Availability:
        """Return whether the solver is installed, from the metadata of its package.

        Returns
        -------
        Availability
            Version, or how to install the package.
        """
        return Availability.of_package(self.package, self.extra)

    def unsupported_reason(self, form: StandardForm) -> str | None:
        """Return why the solver does not support a form whose features and cones it supports.

        Parameters
        ----------
        form : StandardForm
            Flat program.

        Returns
        -------
        str or None
            Reason in words, such as a pattern that is not recognised; None if the form is supported.
        """
        return None

    max_eager_rows: ClassVar[int] = 800
    supports_warm_start: ClassVar[bool] = False
    compiles_on_first_use: ClassVar[bool] = False
    recognises_patterns: ClassVar[bool] = False

    def supports_oracle(self, oracle: Oracle, bags: Bags) -> bool:
        """Return True if the solver has its own algorithm for the program of an oracle.

        Parameters
        ----------
        oracle : Oracle
            Oracle of a semi-infinite program.
        bags : Bags
            Training bags.

        Returns
        -------
        bool
            Whether `pricing` returns a pricing.
        """
        return False

    def pricing(self, oracle: Oracle, bags: Bags, options: Options) -> Pricing | None:
        """Return a pricing that uses the solver's own algorithm for an oracle.

        Parameters
        ----------
        oracle : Oracle
            Oracle of a semi-infinite program.
        bags : Bags
            Training bags.
        options : Options
            Options of the solver.

        Returns
        -------
        Pricing or None
            The pricing; None if the solver has no algorithm for this oracle.
        """
        return None

    def supports_form(self, form: EvaluationForm) -> bool:
        """Return True if `form_engine` solves programs of the pattern of an evaluation form.

        Parameters
        ----------
        form : EvaluationForm
            Program with its functions by their values at points.

        Returns
        -------
        bool
            True if no flat form is needed to solve the program.
        """
        return False

    def form_engine(self, options: Options) -> FormEngine | None:
        """Return an engine for evaluation forms, which is asked before any flat form is made.

        Parameters
        ----------
        options : Options
            Options of every solve.

        Returns
        -------
        FormEngine or None
            The engine; None if the solver supports flat forms only.
        """
        return None

    time_limit_note: str = ""

    def rank(self, profile: Profile) -> float | None:
        """Return how suitable the solver is for a program. `auto` tries the solver with the largest rank first.

        milopt's own solvers have ranks from 10 to 50: a solver with a rank above 50 is tried before all of them, one
        with a rank below 10 after them. Solvers of equal rank are tried in alphabetical order. The default is 0: after
        all of milopt's own solvers. `auto` calls this method of every registered solver at each solve, so it must be
        fast. Solvers that do not support the program are left out afterwards. Families of solvers are not ranked.

        Parameters
        ----------
        profile : Profile
            Kind and size of the program.

        Returns
        -------
        float or None
            The rank; None if `auto` must not choose the solver.
        """
        return 0.0

    def late_reason(self, options: Options) -> str:
        """Return why a solve with these options may exceed its time limit.

        `solve` warns about it, and `auto` prefers solvers that keep the limit.

        Parameters
        ----------
        options : Options
            Options of the solve.

        Returns
        -------
        str
            Reason in words; empty if the limit is kept.
        """
        return self.time_limit_note

    def supports_structure(self, program: Program) -> bool:
        """Return True if the declared blocks suffice to see that a program is supported.

        No kernel has been evaluated at that time.

        Parameters
        ----------
        program : Program
            Program as declared.

        Returns
        -------
        bool
            False if the solver must see the flat form.
        """
        return False

    @abstractmethod
    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Build the solver's own model of a flat program.

        Parameters
        ----------
        form : StandardForm
            Flat program.
        options : Options
            Options of every solve.

        Returns
        -------
        Engine
            Engine that solves the form and follows its changes.
        """


def form_request(solver: Solver, form: EvaluationForm, requested: str) -> FormRequest:
    """Return the form of a program that the option `form` and the solver request."""
    return FormRequest(
        requested,
        prefers_dual=solver.preferred_form == "dual",
        requires_dual=solver.requires_dual(form),
        supports_nonconvex=Feature.NONCONVEX in solver.features,
    )
