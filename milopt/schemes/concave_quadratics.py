"""Quadratics of an objective as a difference of convex ones, for the convex-concave procedure.

    e'We  =  ||B e||^2 - ||C e||^2,   B'B and C'C the parts of W with positive and with negative eigenvalues

An objective keeps its quadratics, and the curvature of their sum decides whether it is convex. Only if the sum is not
convex, each quadratic that is not convex by itself is split, and its concave part is an atom on its other side.
"""

from __future__ import annotations

from copy import copy

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.compilation.arguments import has_affine_argument, keeps_quadratic
from milopt.compilation.compile_program import compile_form
from milopt.compilation.curvature import curvature
from milopt.compilation.lowering import Lowering
from milopt.compilation.streamed import is_large
from milopt.declaration.atoms.atom import Atom, Weight
from milopt.declaration.atoms.sum_squares import sum_squares
from milopt.declaration.programs.coefficient import Coefficient
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Evaluation
from milopt.declaration.programs.program import Program, leaves
from milopt.declaration.programs.semidefinite import ROUNDING, is_semidefinite
from milopt.declaration.programs.sparse import row_vector


def with_concave_quadratics_split(program: Program) -> Program:
    """Return the program with its concave quadratics as atoms on their other side; itself if their sum is convex."""
    objective = program.minimized()
    concave = [term for term in objective.terms if _is_concave_quadratic(*term)]
    if not concave or _is_sum_convex(program):
        return program
    kept = [term for term in objective.terms if not any(term[0] is leaf for leaf, _ in concave)]
    total = Expression((), objective.constant, kept)
    for leaf, coefficient in concave:
        assert isinstance(leaf, Atom)
        total = total + _split(leaf, _weights(coefficient))
    posed = copy(program)
    if program.maximizes:
        posed.maximize(-total)
    else:
        posed.minimize(total)
    return posed


def _is_concave_quadratic(leaf: Leaf, coefficient: Coefficient) -> bool:
    """Return True for a quadratic of an objective that can be split and is not convex by itself."""
    if not isinstance(leaf, Atom) or not has_affine_argument(leaf) or not keeps_quadratic(leaf, coefficient):
        return False
    weights = _weights(coefficient)
    if leaf.function is not None:
        return bool(weights[0] < 0)
    if is_large(leaf):
        return False
    weight = leaf.quadratic(weights)
    return weight is not None and not is_semidefinite(weight)


def _is_sum_convex(program: Program) -> bool:
    """Return True if the sum of the quadratics is convex on the subspace that the equalities leave."""
    squares = Program(program.name)
    squares.variables, squares.functions = dict(program.variables), dict(program.functions)
    squares.parameters = dict(program.parameters)
    squares.constraints = {name: row for name, row in program.constraints.items() if row.equality}
    objective = program.minimized()
    total = Expression((), np.zeros(1), [term for term in objective.terms if _is_kept(*term)])
    # Linear terms over all evaluations make the points of functions known, so that they have coordinates.
    for expression in (objective, *(row.expression for row in program.constraints.values())):
        for leaf in leaves(expression):
            if isinstance(leaf, Evaluation):
                total = total + leaf.sum()
    squares.minimize(total)
    form = Lowering(squares).form()
    return curvature(form, compile_form(form, "coordinates", np.arange(form.rows.count)).form).convex


def _is_kept(leaf: Leaf, coefficient: Coefficient) -> bool:
    return isinstance(leaf, Atom) and has_affine_argument(leaf) and keeps_quadratic(leaf, coefficient)


def _split(atom: Atom, weights: Vector) -> Expression:
    """Return weights @ atom as a convex quadratic minus an atom that is not kept as a quadratic."""
    if atom.function is not None:
        return Expression((), np.zeros(1), [(atom.without_quadratic(), Coefficient(row_vector(weights)))])
    weight = atom.quadratic(weights)
    assert weight is not None
    e = atom.argument if atom.argument.shape else np.ones(1) * atom.argument
    B, C = _roots(weight)
    convex, concave = sum_squares(B @ e), sum_squares(C @ e)
    assert isinstance(concave, Atom)
    return (convex if B.shape[0] else 0.0) - concave.without_quadratic()


def _roots(weight: Weight) -> tuple[sp.csr_array, sp.csr_array]:
    """Return B and C with B'B - C'C = W."""
    if weight.ndim == 1:
        values, rows = weight, sp.eye_array(weight.size, format="csr")
    else:
        values, vectors = np.linalg.eigh(weight)
        rows = sp.csr_array(vectors.T)
    least = ROUNDING * values.size * float(np.abs(values).max()) if weight.ndim == 2 else 0.0
    both = [sp.csr_array(rows[at]) for at in (values > least, values < -least)]
    lengths = [np.sqrt(np.abs(values[at])) for at in (values > least, values < -least)]
    B, C = (sp.csr_array(sp.diags_array(length) @ part) for length, part in zip(lengths, both, strict=True))
    return B, C


def _weights(coefficient: Coefficient) -> Vector:
    return np.asarray(coefficient.value().toarray(), dtype=np.float64).ravel()
