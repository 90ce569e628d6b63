"""Write the quadratics of an objective as differences of convex ones, for the convex-concave procedure.

    e'We  =  ||B e||^2 - ||C e||^2,   B'B and C'C the parts of W with positive and with negative eigenvalues

If the sum of all quadratics of the objective is convex, nothing is split, even if some of them are concave. Otherwise
each quadratic that is not convex by itself is split, and its concave part becomes an atom on its non-convex side.
"""

from __future__ import annotations

from copy import copy

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector, Weight
from milopt.compilation.arguments import has_affine_argument, stays_quadratic
from milopt.compilation.compile_program import compile_form
from milopt.compilation.curvature import judge_convexity
from milopt.compilation.lowering import Lowering
from milopt.compilation.streamed_squares import should_stream
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.sum_squares import sum_squares
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import FunctionEvaluation
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.semidefinite import ROUNDING_PER_COLUMN, is_semidefinite
from milopt.declaration.programs.sparse import row_vector


def split_concave_quadratics(program: Program) -> Program:
    """Return the program with each non-convex quadratic of its objective split (see the module docstring).

    The program itself is returned if there is no such quadratic, or if the sum of all quadratics is convex.
    """
    objective = program.minimized_objective()
    concave = [term for term in objective.terms if _is_nonconvex_quadratic(*term)]
    if not concave or _is_sum_convex(program):
        return program
    other_terms = [term for term in objective.terms if not any(term[0] is leaf for leaf, _ in concave)]
    total = Expression((), objective.constant, other_terms)
    for leaf, coefficient in concave:
        assert isinstance(leaf, Atom)
        total = total + _split_quadratic(leaf, _as_dense_vector(coefficient))
    prepared = copy(program)
    if program.maximizes:
        prepared.maximize(-total)
    else:
        prepared.minimize(total)
    return prepared


def _is_nonconvex_quadratic(leaf: Leaf, coefficient: Coefficient) -> bool:
    """Return True if leaf * coefficient is a quadratic term that is not convex by itself and that can be split."""
    if not isinstance(leaf, Atom) or not has_affine_argument(leaf) or not stays_quadratic(leaf, coefficient):
        return False
    weights = _as_dense_vector(coefficient)
    if leaf.function is not None:
        return bool(weights[0] < 0)
    if should_stream(leaf):
        return False
    weight = leaf.quadratic(weights)
    return weight is not None and not is_semidefinite(weight)


def _is_sum_convex(program: Program) -> bool:
    """Return True if the objective's quadratics have a convex sum on the subspace of the equality constraints."""
    squares = Program(program.name)
    squares.variables, squares.functions = dict(program.variables), dict(program.functions)
    squares.parameters = dict(program.parameters)
    squares.constraints = {name: row for name, row in program.constraints.items() if row.equality}
    objective = program.minimized_objective()
    total = Expression((), np.zeros(1), [term for term in objective.terms if _is_quadratic_term(*term)])
    # Linear terms over all evaluations register the points of functions, so that the points have coordinates.
    for expression in (objective, *(row.expression for row in program.constraints.values())):
        for leaf in leaves(expression):
            if isinstance(leaf, FunctionEvaluation):
                total = total + leaf.sum()
    squares.minimize(total)
    form = Lowering(squares).form()
    return judge_convexity(form, compile_form(form, "primal", np.arange(form.rows.count)).form).convex


def _is_quadratic_term(leaf: Leaf, coefficient: Coefficient) -> bool:
    """Return True if leaf * coefficient is a term that compilation keeps as a quadratic, without an epigraph."""
    return isinstance(leaf, Atom) and has_affine_argument(leaf) and stays_quadratic(leaf, coefficient)


def _split_quadratic(atom: Atom, weights: Vector) -> Expression:
    """Return weights @ atom as a convex quadratic minus an atom, which compilation does not keep as a quadratic.

    For the squared norm of a function, whose weight is negative, the convex part is 0.
    """
    if atom.function is not None:
        return Expression((), np.zeros(1), [(atom.without_quadratic(), Coefficient(row_vector(weights)))])
    weight = atom.quadratic(weights)
    assert weight is not None
    e = atom.argument if atom.argument.shape else np.ones(1) * atom.argument
    B, C = _signed_square_roots(weight)
    convex, concave = sum_squares(B @ e), sum_squares(C @ e)
    assert isinstance(concave, Atom)
    return (convex if B.shape[0] else 0.0) - concave.without_quadratic()


def _signed_square_roots(weight: Weight) -> tuple[sp.csr_array, sp.csr_array]:
    """Return B and C with B'B - C'C = W, the weight, up to eigenvalues that are rounding errors."""
    if weight.ndim == 1:
        values, rows = weight, sp.eye_array(weight.size, format="csr")
    else:
        values, vectors = np.linalg.eigh(weight)
        rows = sp.csr_array(vectors.T)
    least = ROUNDING_PER_COLUMN * values.size * float(np.abs(values).max()) if weight.ndim == 2 else 0.0
    both = [sp.csr_array(rows[at]) for at in (values > least, values < -least)]
    lengths = [np.sqrt(np.abs(values[at])) for at in (values > least, values < -least)]
    B, C = (sp.csr_array(sp.diags_array(length) @ part) for length, part in zip(lengths, both, strict=True))
    return B, C


def _as_dense_vector(coefficient: Coefficient) -> Vector:
    """Return the coefficient of a scalar term, a matrix with one row, as a dense vector."""
    return np.asarray(coefficient.value().toarray(), dtype=np.float64).ravel()
