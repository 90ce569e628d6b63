"""A DC program as a mixed-integer program: binary variables choose the witness of each bag.

    h_i <= e_p + (U_i - L_p)(1 - q_p),   sum_{p in B_i} q_p = 1,   q binary,   h_i in place of max_{p in B_i} e_p

The value e_p of instance p has known bounds L_p <= e_p <= U_p, and U_i is the largest U_p of bag B_i. Entries of maxima
on their convex side are not replaced.
"""

from __future__ import annotations

import scipy.sparse as sp

from milopt.declaration.atoms.atom import SelectionAtom
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Constraint, Expression, Leaf
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.program import Program
from milopt.schemes.ceilings import InstanceRanges


def make_witness_milp(
    program: Program,
    atoms: list[SelectionAtom],
    ranges: InstanceRanges,
) -> tuple[Program, dict[SelectionAtom, str]]:
    """Return (program, names): the mixed-integer program, and for each maximum the name of its binary variables q."""
    milp = Program(f"{program.name} (MILP)")
    milp.variables, milp.functions = dict(program.variables), dict(program.functions)
    milp.parameters = dict(program.parameters)
    heights: dict[SelectionAtom, Variable] = {}
    choices: dict[SelectionAtom, str] = {}
    for k, atom in enumerate(atoms):
        low, high = ranges[atom]
        bags = atom.segments
        top = bags.max(high)
        own = _unused_name(f"bag_max.{k}", program)
        heights[atom] = milp.variable(f"{own}.height", len(bags), upper=top)
        chosen = milp.variable(f"{own}.witness", int(bags.offsets[-1]), lower=0, upper=1, integer=True)
        choices[atom] = f"{own}.witness"
        spread = sp.csr_array(bags.indicator.T)
        room = spread @ top - low
        milp.subject_to(spread @ heights[atom] <= atom.argument + room * (1 - chosen), name=f"{own}.rows")
        milp.subject_to(bags.indicator @ chosen == 1, name=f"{own}.one")
    objective = _replace_maxima(program.minimized_objective(), heights, convex_sign=+1)
    (milp.maximize if program.maximizes else milp.minimize)(-objective if program.maximizes else objective)
    for name, constraint in program.constraints.items():
        milp.add_unchecked(
            Constraint(_replace_maxima(constraint.expression, heights, -1), constraint.equality), name=name
        )
    return milp, choices


def _unused_name(name: str, program: Program) -> str:
    """Return the name with underscores appended until no name of the program begins with it."""
    taken = (*program.variables, *program.functions, *program.parameters, *program.constraints)
    while any(other.startswith(name) for other in taken):
        name += "_"
    return name


def _replace_maxima(expression: Expression, heights: dict[SelectionAtom, Variable], convex_sign: int) -> Expression:
    """Replace the entries of maxima on their non-convex side in an expression by the variables h_i.

    `heights`: the variables h of each maximum. `convex_sign`: sign of the coefficients of a maximum on its convex side,
    1 in a minimised objective and -1 in rows >= 0.
    """
    terms: list[tuple[Leaf, Coefficient]] = []
    for leaf, coefficient in expression.terms:
        if isinstance(leaf, SelectionAtom) and leaf in heights:
            matrix, signs = coefficient.value(), coefficient.signs
            on = sp.csr_array((signs.data == convex_sign, signs.indices, signs.indptr), shape=signs.shape)
            convex = sp.csr_array(matrix.multiply(on.astype(float)))
            terms.append((leaf, Coefficient(convex)))
            terms.append((heights[leaf], Coefficient(sp.csr_array(matrix - convex))))
        else:
            terms.append((leaf, coefficient))
    return Expression(expression.shape, expression.constant, terms)
