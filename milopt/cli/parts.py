"""The programs that a model solves on a data set, by the names that `milopt inspect --part` takes.

For two classes there is one, the `program`; for more, one a class, called by the class's label. A semi-infinite program
is several: the `master`, and its oracles.
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


def chosen_part(
    estimator: BagClassifier, model: str, data: DataSet, part: str | None, iteration: int | None
) -> tuple[str, Program, WitnessChoice]:
    """The part that was asked for, or the only sensible one: its full name, itself, and where its witnesses start."""
    from milopt.errors import ParameterError

    label, inner = chosen_class(model, data, part)
    declared = declared_for(estimator, data, label)
    if iteration is not None:
        if not declared.oracles:
            raise ParameterError(f"{model} is one program, without rounds of column generation: leave out --iteration.")
        generated(declared, iteration)
    parts = declared.parts
    name = inner or next(iter(parts))
    if name not in parts:
        there = ", ".join(f'"{one}"' if label is None else f'"{label}:{one}"' for one in parts)
        raise ParameterError(f'{model} has no part "{part}": it has {there}.')
    full = name if label is None else f"{label}:{name}" if len(parts) > 1 else label
    return full, parts[name], started(declared, parts[name])


def chosen_class(model: str, data: DataSet, part: str | None) -> tuple[str | None, str | None]:
    """The label and the part of its program that `LABEL` or `LABEL:PART` means; no label where there are two."""
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
        f"{data.name} has {len(labels)} classes, and {model} solves one program for each: "
        f"give one of them as --part, {there}{instead}."
    )


def declared_for(estimator: BagClassifier, data: DataSet, label: str | None) -> Program | SemiInfinite:
    """What `fit` would solve; for several classes, the program of one against the rest."""
    if label is None:
        return estimator.program(data.bags, data.labels)
    import numpy as np

    from milopt.declaration.bags.labels import as_classes
    from milopt.estimator.class_weights import class_weights
    from milopt.estimator.positive_label import positive_place

    classes, place = as_classes(data.labels)
    positive_place(estimator.positive, classes)  # raises if the user named a positive class
    # Weights by class are those of all classes, not of one and the rest.
    weight = class_weights(estimator.class_weight, classes, place, np.ones(place.size))[place]
    signs = place == [str(one) for one in classes.tolist()].index(label)
    # Given but empty: the weights are these already, and a model may ask whether there are any.
    given: dict[str, float] | None = None if estimator.class_weight is None else {}
    return estimator.set_params(class_weight=given).program(data.bags, signs, weight)


def started(declared: Program | SemiInfinite, program: Program) -> WitnessChoice:
    """The witnesses of an oracle's first step at the prices that it has; None where nothing says: bag means."""
    from milopt.compilation.sides import witnessed_maxima

    for oracle in declared.oracles:
        if oracle.program is program and oracle.starts is not None:
            values = next(iter(oracle.starts({price: price.current() for price in oracle.prices})))
            return {atom: atom.segments.argmax(values) for atom in witnessed_maxima(program, "a start")}
    return None


def generated(declared: Program | SemiInfinite, rounds: int) -> None:
    """Run rounds of column generation: the master has its rows then, and the oracles have the master's prices."""
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
