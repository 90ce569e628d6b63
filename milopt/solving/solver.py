"""What a solver must be: a name, what it takes, whether it is installed, and an engine for flat programs.

A new solver is one file with a subclass and one entry point in the group `milopt.solvers`:

    class Clarabel(Solver):
        name = "clarabel"
        features = frozenset({Feature.LINEAR, Feature.QUADRATIC})
        cones = frozenset({"second-order"})
        package = "clarabel"

        def engine(self, form: StandardForm, options: Options) -> Engine: ...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from milopt.compilation.features import Feature
from milopt.compilation.standard_form import StandardForm
from milopt.solving.engine import Engine
from milopt.solving.installed import installed_version
from milopt.solving.options import Options

if TYPE_CHECKING:
    from milopt.declaration.bags.bags import Bags
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import Oracle
    from milopt.solving.pricing import Pricing
    from milopt.solving.profile import Profile


@dataclass(frozen=True)
class Availability:
    """Whether a solver can run here; found without importing it."""

    installed: bool
    version: str | None = None
    install: str | None = None
    """The command that installs it."""
    reason: str | None = None
    """Why it cannot be loaded, where more is wrong than a missing package."""

    @classmethod
    def of(cls, package: str, extra: str = "") -> Availability:
        """Return that of a solver that one package brings; `extra` is the extra of milopt that installs it, if any."""
        found = installed_version(package)
        wanted = f"'milopt[{extra}]'" if extra else package
        return cls(True, found) if found is not None else cls(False, None, f"pip install {wanted}")


class Solver(ABC):
    """One solver. Stateless: everything alive is in the engines it makes."""

    name: str
    features: frozenset[Feature]
    cones: frozenset[str] = frozenset()
    """The names of the cones that it takes besides linear rows (`milopt.cones`), if no variable is integer."""
    integer_cones: frozenset[str] = frozenset()
    """The same if some variables are integer."""
    package: str
    """The distribution that brings it, as pip knows it."""
    extra: ClassVar[str] = ""
    """The extra of milopt that installs the distribution; empty if there is none."""
    licence: str = "unknown"
    remark: ClassVar[str] = ""
    """What a person should know before installing it."""
    prefers: ClassVar[str] = "dual"
    """The form in which functions reach it where both can be made: "coordinates" or "dual"."""

    def availability(self) -> Availability:
        """Installed or not, by looking at the package's metadata only."""
        return Availability.of(self.package, self.extra)

    def refusal(self, form: StandardForm) -> str | None:
        """Why it cannot take this form beyond its features (a pattern it does not recognise), or None."""
        return None

    whole_up_to: ClassVar[int] = 800
    """Epigraph rows up to which it gets all at once rather than lazily."""
    starts_warm: ClassVar[bool] = False
    """Solves a changed program from where the last one ended."""
    compiles: ClassVar[bool] = False
    """Compiles its algorithms when they are first used on a machine, which takes long, once."""
    recognises_patterns: ClassVar[bool] = False
    """Takes programs by their pattern, which a few lazily chosen rows may hide: it is shown a faithful sample."""

    def prices(self, oracle: Oracle, bags: Bags) -> bool:
        """Whether it has an algorithm of its own for an oracle's program, whatever it makes of flat ones."""
        return False

    def pricing(self, oracle: Oracle, bags: Bags, options: Options) -> Pricing | None:
        """That algorithm at work, start to end; None where it has none."""
        return None

    time_limit_note: str = ""
    """What happens at a time limit, in words, if the solver does not look at the clock itself; otherwise empty."""

    def rank(self, profile: Profile) -> float | None:
        """Return how well it suits a program, for `auto`, which tries the solver with the largest rank first.

        milopt's own solvers rank from 10 to 50: a rank above 50 comes before all of them, one below 10 after them.
        Of equal ranks, the first name in alphabetical order comes first. None is never chosen by `auto`. The default
        is 0, the last resort: after all solvers that rank themselves. `auto` asks every registered solver at each
        solve, so the answer must be quick; solvers that do not take the program are left out afterwards. A family of
        solvers is never asked.
        """
        return 0.0

    def may_be_late(self, options: Options) -> str:
        """Return why a solve with these options may exceed its time limit, in words; empty if it may not.

        `solve` warns about it, and `auto` prefers solvers that keep the limit.
        """
        return self.time_limit_note

    def takes_unseen(self, program: Program) -> bool:
        """Whether its blocks alone show that it takes a program, before any kernel is evaluated."""
        return False

    @abstractmethod
    def engine(self, form: StandardForm, options: Options) -> Engine:
        """Build the solver's own model of a flat program."""
