"""Selection of one of the programs that a model solves on a data set, for `milopt inspect --part`.

For two classes, a model solves one program, named `program`. For more classes, it solves one program per class, named
by the label of the class. A semi-infinite program consists of several programs: the `master` and its oracles.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from milopt.compilation.compile_program import WitnessChoice
    from milopt.data.data_set import DataSet
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import SemiInfinite
    from milopt.estimator import BagClassifier


def select_part(
    estimator: BagClassifier, model: str, data: DataSet, part: str | None, iteration: int | None
) -> tuple[str, Program, WitnessChoice]:
    """Return (full name, program, first witnesses) of the requested part; by default, of the first part.

    `iteration` is the number of rounds of column generation that are run first; it must be None for a model without
    column generation. For more than two classes, `part` must name a class.
    """
    from milopt.errors import ParameterError

    label, inner = split_part_name(model, data, part)
    declared = declare_program(estimator, data, label)
    if iteration is not None:
        if not declared.oracles:
            raise ParameterError(f"{model} is a single program, without column generation: leave out --iteration.")
        generate_columns(declared, iteration)
    parts = declared.parts
    name = inner or next(iter(parts))
    if name not in parts:
        there = ", ".join(f'"{key}"' if label is None else f'"{label}:{key}"' for key in parts)
        raise ParameterError(f'{model} has no part "{part}"; its parts are {there}.')
    full = name if label is None else f"{label}:{name}" if len(parts) > 1 else label
    return full, parts[name], first_witnesses(declared, parts[name])


def whole_problem(
    estimator: BagClassifier, model: str, data: DataSet, part: str | None
) -> Program | SemiInfinite | None:
    """Return the problem whose first part `select_part` would return; None if `part` names a master or an oracle."""
    label, inner = split_part_name(model, data, part)
    return declare_program(estimator, data, label) if inner is None else None


def split_part_name(model: str, data: DataSet, part: str | None) -> tuple[str | None, str | None]:
    """Split the name `LABEL` or `LABEL:PART` into label and part, for more than two classes.

    The part is None if only a label is given. For at most two classes, the label is None and the name is the part.
    """
    from milopt.errors import ParameterError

    labels = [str(label) for label in sorted(set(data.labels.tolist()))]
    if len(labels) <= 2:
        return None, part
    for label in labels:
        if part == label:
            return label, None
        if part is not None and part.startswith(f"{label}:"):
            return label, part.removeprefix(f"{label}:")
    there = ", ".join(f'"{label}"' for label in labels)
    instead = "" if part is None else f', not "{part}"'
    raise ParameterError(
        f"{data.name} has {len(labels)} classes, and {model} solves one program per class: "
        f"choose one with --part, {there}{instead}."
    )


def declare_program(estimator: BagClassifier, data: DataSet, label: str | None) -> Program | SemiInfinite:
    """Return the program that `fit` would solve; if `label` is given, the program of this class against the rest.

    If `label` is given, the class weights become part of the bag weights, and `class_weight` of `estimator` is emptied.
    """
    if label is None:
        return estimator.program(data.bags, data.labels)
    import numpy as np

    from milopt.declaration.bags.labels import as_classes
    from milopt.estimator.class_weights import class_weights
    from milopt.estimator.positive_label import positive_class_index

    classes, place = as_classes(data.labels)
    positive_class_index(estimator.positive, classes)  # raises an error if the user named a positive class
    # Class weights are computed from all classes, not from one class against the rest.
    weight = class_weights(estimator.class_weight, classes, place, np.ones(place.size))[place]
    signs = place == [str(value) for value in classes.tolist()].index(label)
    # Empty, but not None: `weight` already contains the class weights, and a model may check whether there are any.
    no_weights: dict[str, float] | None = None if estimator.class_weight is None else {}
    return estimator.set_params(class_weight=no_weights).program(data.bags, signs, weight)


def first_witnesses(declared: Program | SemiInfinite, program: Program) -> WitnessChoice:
    """Return the witnesses (instances that stand for maxima) of the first step of an oracle at its current prices.

    `program` is a part of `declared`. Return None if it is not the program of an oracle with starting points; None
    stands for the mean of each bag.
    """
    from milopt.compilation.sides import maxima_on_other_side

    for oracle in declared.oracles:
        if oracle.program is program and oracle.starts is not None:
            values = next(iter(oracle.starts({price: price.current_value() for price in oracle.prices})))
            return {atom: atom.segments.argmax(values) for atom in maxima_on_other_side(program, "a start")}
    return None


def generate_columns(declared: Program | SemiInfinite, rounds: int) -> None:
    """Run rounds of column generation; afterwards the master has the new columns, and the oracles have its prices.

    `declared` and its oracles are changed in place. Warn if column generation ends earlier.
    """
    import numpy as np

    from milopt.errors import MiloptWarning
    from milopt.schemes.column_generation import ColumnGeneration
    from milopt.schemes.solve import solve

    if rounds == 0:
        return
    result = solve(declared, scheme=ColumnGeneration(max_rounds=rounds))
    for oracle in declared.oracles:
        for parameter, variable in oracle.prices.items():
            if variable.name in result.values:
                parameter.value = (
                    np.clip(np.ravel(result.values[variable.name]), variable.lower, variable.upper)
                ).reshape(variable.shape)
    if (count := len(result.history)) < rounds:
        message = f"Column generation ended after {count} of {rounds} rounds, {result.termination}. {result.message}"
        warnings.warn(message.strip(), MiloptWarning, stacklevel=2)
