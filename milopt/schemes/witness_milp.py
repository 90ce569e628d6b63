"""A linear DC program as a MILP: a binary an instance says which is its bag's witness.

    h_i <= e_p + (U_i - L_p)(1 - q_p),   sum_{p in B_i} q_p = 1,   q binary,   h_i in place of max_{p in B_i} e_p

with L_p <= e_p <= U_p known. The convex side keeps its bag_max.
"""

from __future__ import annotations

import scipy.sparse as sp

from milopt.declaration.atoms.atom import Selecting
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.program import Program
from milopt.schemes.ceilings import Ranges


def witness_milp(
    program: Program,
    atoms: list[Selecting],
    ranges: Ranges,
) -> tuple[Program, dict[Selecting, str]]:
    """The MILP, and for each maximum the name of its binaries."""
    milp = Program(f"{program.name} (MILP)")
    milp.variables, milp.functions = dict(program.variables), dict(program.functions)
    milp.parameters = dict(program.parameters)
    heights: dict[Selecting, Variable] = {}
    choices: dict[Selecting, str] = {}
    for k, atom in enumerate(atoms):
        low, high = ranges[atom]
        bags = atom.segments
        top = bags.max(high)
        own = _free_name(f"bag_max.{k}", program)
        heights[atom] = milp.variable(f"{own}.height", len(bags), upper=top)
        chosen = milp.variable(f"{own}.witness", int(bags.offsets[-1]), lower=0, upper=1, integer=True)
        choices[atom] = f"{own}.witness"
        spread = sp.csr_array(bags.indicator.T)
        room = spread @ top - low
        milp.subject_to(spread @ heights[atom] <= atom.argument + room * (1 - chosen), name=f"{own}.rows")
        milp.subject_to(bags.indicator @ chosen == 1, name=f"{own}.one")
    objective = _replaced(program.minimized(), heights, convex_sign=+1)
    (milp.maximize if program.maximizes else milp.minimize)(-objective if program.maximizes else objective)
    for name, constraint in program.constraints.items():
        milp.keep(Constraint(_replaced(constraint.expression, heights, -1), constraint.equality), name=name)
    return milp, choices


def _free_name(name: str, program: Program) -> str:
    """The name, lengthened until nothing of the program begins with it."""
    taken = (*program.variables, *program.functions, *program.parameters, *program.constraints)
    while any(other.startswith(name) for other in taken):
        name += "_"
    return name


def _replaced(expression: Expression, heights: dict[Selecting, Variable], convex_sign: int) -> Expression:
    """Entries of maxima on their other side become heights."""
    terms: list[tuple[Leaf, Coefficient]] = []
    for leaf, coefficient in expression.terms:
        if isinstance(leaf, Selecting) and leaf in heights:
            matrix, signs = coefficient.value(), coefficient.signs
            on = sp.csr_array((signs.data == convex_sign, signs.indices, signs.indptr), shape=signs.shape)
            convex = sp.csr_array(matrix.multiply(on.astype(float)))
            terms.append((leaf, Coefficient(convex)))
            terms.append((heights[leaf], Coefficient(sp.csr_array(matrix - convex))))
        else:
            terms.append((leaf, coefficient))
    return Expression(expression.shape, expression.constant, terms)
