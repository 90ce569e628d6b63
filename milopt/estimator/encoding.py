"""Values as JSON and arrays, and back: only what is on the list below, so that a file can make nothing else.

None, booleans, numbers, strings     themselves (numbers that JSON lacks: {"number": "nan"})
tuples, mappings                     {"tuple": [...]}, {"mapping": [[key, value], ...]}
arrays, sparse rows, bags            {"array": name}, {"sparse": [...]}, {"bags": [...]}
milopt's own kernels, options, ...   {"a": "RBF", "s": 0.5}
registered schemes, by their names   {"scheme": "ccp", "max_steps": 9}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.archive import check_text
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.grid import Grid
from milopt.bag_kernels.random_boxes import RandomBoxes
from milopt.bag_kernels.set_kernels import Minimax, SetKernel
from milopt.compilation.inertia import Inertia
from milopt.compilation.status import PointStatus, Termination
from milopt.data.limits import SPARSE_FEATURES
from milopt.data.windows import Cut
from milopt.declaration.bags.bag_rows import BagRows
from milopt.declaration.bags.bags import Bags
from milopt.declaration.kernels.alignment import DTW, GlobalAlignment
from milopt.declaration.kernels.kernel import RBF, Linear, Polynomial, Precomputed
from milopt.errors import ModelFileError
from milopt.estimator.field_types import check_fields
from milopt.estimator.scaling import Scaling
from milopt.outcome.certificate import Certificate
from milopt.outcome.ensemble import Ensemble, Members
from milopt.outcome.result import Attempt, Seconds, Size, Step
from milopt.schemes.registered import scheme_class, scheme_names
from milopt.schemes.scheme import Scheme
from milopt.solving.options import Options

_OUTCOMES = (Certificate, Step, Attempt, Seconds, Scaling, Cut, Ensemble, Members, Inertia, Size)
"""Records that milopt makes itself; those that a person makes check their own fields."""
_RECORDS: Mapping[str, type] = {
    known.__name__: known
    for known in (
        *(RBF, Linear, Polynomial, Precomputed, DTW, GlobalAlignment, Options),
        *(BoxCounting, RandomBoxes, Grid, SetKernel, Minimax),
        *_OUTCOMES,
    )
}
_SCHEMES = {
    "Direct": "direct",
    "ConvexConcave": "ccp",
    "Representatives": "representatives",
    "Exact": "exact",
    "ColumnGeneration": "column-generation",
}
"""The names of the schemes that older files call by their classes."""
_ENUMS: Mapping[str, type[Enum]] = {"Termination": Termination, "PointStatus": PointStatus}


class Encoder:
    """Collects the arrays that it meets."""

    def __init__(self) -> None:
        self.arrays: dict[str, npt.NDArray[Any]] = {}

    def encoded(self, value: Any, what: str) -> Any:
        """The JSON of a value; `what` is how a message calls it."""
        if isinstance(value, np.generic):
            value = value.item()
        name = type(value).__name__
        if _ENUMS.get(name) is type(value):
            return {"one of": name, "value": value.value}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"number": repr(value)}
        if isinstance(value, (tuple, list)):
            parts = [self.encoded(part, what) for part in value]
            return parts if isinstance(value, list) else {"tuple": parts}
        if isinstance(value, Mapping):
            pairs = [[self.encoded(key, what), self.encoded(held, f"{what}[{key!r}]")] for key, held in value.items()]
            return {"mapping": pairs}
        if isinstance(value, np.ndarray):
            return self._array(value, what)
        if isinstance(value, sp.csr_array):
            return {
                "sparse": [self._array(a, what) for a in (value.data, value.indices, value.indptr)],
                "of": value.shape,
            }
        if isinstance(value, Bags):
            return {"bags": [self.encoded(value.instances, what), self._array(value.offsets, what)]}
        if isinstance(value, BagRows):
            return {"bag rows": self.encoded(value.bags, what) if value.shape[0] else None, "of": value.shape[1]}
        if _RECORDS.get(name) is type(value):
            names = [field.name for field in fields(_RECORDS[name])]
            return {"a": name} | {key: self.encoded(getattr(value, key), f"{what}.{key}") for key in names}
        if isinstance(value, Scheme) and _is_registered(value):
            names = [field.name for field in fields(value)]  # type: ignore[arg-type]  # a dataclass
            return {"scheme": value.name} | {key: self.encoded(getattr(value, key), f"{what}.{key}") for key in names}
        raise ModelFileError(
            f"The model cannot be saved, because {what} is {value!r}: a file holds numbers, strings, arrays, "
            "milopt's own kernels and options, and registered schemes, but no code."
        )

    def _array(self, array: npt.NDArray[Any], what: str) -> Any:
        if array.dtype.hasobject:
            return {"objects": [self.encoded(one, what) for one in array.ravel().tolist()], "of": array.shape}
        if array.dtype.kind == "U":
            try:
                check_text(array)
            except ValueError as error:
                raise ModelFileError(f"The model cannot be saved, because {what} is no text: {error}.") from error
        name = f"{len(self.arrays):04d}"
        self.arrays[name] = array
        return {"array": name}


def decoded(code: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    """The value of a JSON, or a ValueError, KeyError or TypeError where it is none."""
    if isinstance(code, list):
        return [decoded(part, arrays) for part in code]
    if not isinstance(code, dict):
        return code
    if "number" in code:
        return float(code["number"])
    if "tuple" in code:
        return tuple(decoded(part, arrays) for part in code["tuple"])
    if "mapping" in code:
        return {decoded(key, arrays): decoded(held, arrays) for key, held in code["mapping"]}
    if "array" in code:
        return arrays[code["array"]]
    if "objects" in code:
        flat = np.empty(len(code["objects"]), dtype=object)
        flat[:] = [decoded(one, arrays) for one in code["objects"]]
        return flat.reshape(code["of"])
    if "sparse" in code:
        data, indices, indptr = (decoded(part, arrays) for part in code["sparse"])
        rows = sp.csr_array((data, indices, indptr), shape=tuple(code["of"]))
        rows.check_format(full_check=True)
        return rows
    if "bags" in code:
        instances, offsets = (decoded(part, arrays) for part in code["bags"])
        return Bags(instances, offsets)
    if "bag rows" in code:
        held = decoded(code["bag rows"], arrays)
        if held is not None:
            return BagRows(held)
        if not 0 < code["of"] <= SPARSE_FEATURES:
            raise ValueError("rows of bags have an impossible number of features")
        return BagRows(Bags(np.zeros((1, code["of"])), [0, 1]))[:0]
    if "one of" in code:
        return _ENUMS[code["one of"]](code["value"])
    held = {key: decoded(part, arrays) for key, part in code.items() if key not in ("a", "scheme")}
    scheme = code.get("scheme") or _SCHEMES.get(code["a"])
    if scheme is not None:
        return scheme_class(scheme)(**held)
    record = _RECORDS[code["a"]](**held)
    if isinstance(record, _OUTCOMES):
        check_fields(record)
    return record


def _is_registered(scheme: Scheme) -> bool:
    """Whether the name of a scheme leads to its class, and its fields make it again."""
    known = scheme.name in scheme_names() and scheme_class(scheme.name) is type(scheme)
    return known and is_dataclass(type(scheme))
