"""Conversion of values to JSON and arrays, and back; only the types below are supported, so files cannot contain code.

None, booleans, numbers, strings     themselves (numbers that JSON lacks: {"number": "nan"})
tuples, mappings                     {"tuple": [...]}, {"mapping": [[key, value], ...]}
arrays, sparse rows, bags            {"array": name}, {"sparse": [...]}, {"bags": [...]}; arrays are stored separately
milopt's own kernels, options, ...   {"a": "RBF", "s": 0.5}
registered schemes, by their names   {"scheme": "ccp", "max_steps": 9}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.archive import check_unicode
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.grid import Grid
from milopt.bag_kernels.random_boxes import RandomBoxes
from milopt.bag_kernels.set_kernels import Minimax, SetKernel
from milopt.compilation.inertia import Inertia
from milopt.compilation.status import PointStatus, Termination
from milopt.data.limits import MAX_SPARSE_FEATURES
from milopt.data.windows import WindowSettings
from milopt.declaration.bags.bag_rows import BagRows
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.scaled_rows import ScaledRows, is_scaled_rows
from milopt.declaration.kernels.alignment import DTW, GlobalAlignment
from milopt.declaration.kernels.combined import KernelProduct, KernelSum
from milopt.declaration.kernels.kernel import RBF, Linear, Polynomial, Precomputed
from milopt.declaration.kernels.nystrom import Nystrom
from milopt.declaration.kernels.random_fourier import RandomFourier
from milopt.errors import ModelFileError
from milopt.estimator.field_types import check_fields
from milopt.estimator.scaling import Scaling
from milopt.outcome.certificate import Certificate
from milopt.outcome.ensemble import Ensemble, OracleMembers
from milopt.outcome.result import Attempt, Seconds, Size, Step
from milopt.schemes.registered import scheme_class, scheme_names
from milopt.schemes.scheme import Scheme
from milopt.solving.options import Options

_CHECKED_RECORDS = (
    Certificate,
    Step,
    Attempt,
    Seconds,
    Scaling,
    WindowSettings,
    Ensemble,
    OracleMembers,
    Inertia,
    Size,
)
"""Records created by milopt, whose fields are checked after reading. Other records check their fields themselves."""
_RECORDS: Mapping[str, type] = {
    "RBF": RBF,
    "Linear": Linear,
    "Polynomial": Polynomial,
    "Precomputed": Precomputed,
    "Nystrom": Nystrom,
    "RandomFourier": RandomFourier,
    "KernelSum": KernelSum,
    "KernelProduct": KernelProduct,
    "DTW": DTW,
    "GlobalAlignment": GlobalAlignment,
    "Options": Options,
    "BoxCounting": BoxCounting,
    "RandomBoxes": RandomBoxes,
    "Grid": Grid,
    "SetKernel": SetKernel,
    "Minimax": Minimax,
    "Certificate": Certificate,
    "Step": Step,
    "Attempt": Attempt,
    "Seconds": Seconds,
    "Scaling": Scaling,
    "Cut": WindowSettings,
    "Ensemble": Ensemble,
    "Members": OracleMembers,
    "Inertia": Inertia,
    "Size": Size,
}
"""Classes that a file may contain, by their names in files. The names stay when a class is renamed."""
_RECORD_NAMES: Mapping[type, str] = {cls: name for name, cls in _RECORDS.items()}
_SCHEME_NAMES_BY_CLASS = {
    "Direct": "direct",
    "ConvexConcave": "ccp",
    "Representatives": "representatives",
    "Exact": "exact",
    "ColumnGeneration": "column-generation",
}
"""Registered names of the schemes that older files name by their classes."""
_RENAMED_FIELDS = {"normalize": "normalise"}
"""Current names of fields, by their names in older files."""
_RENAMED_FORMS = {"coordinates": "primal"}
"""Current values of `Options.form`, by their values in older files."""
_ENUMS: Mapping[str, type[Enum]] = {"Termination": Termination, "PointStatus": PointStatus}


class Encoder:
    """Converter of values to JSON that stores arrays separately, by name, in `arrays`."""

    def __init__(self) -> None:
        self.arrays: dict[str, npt.NDArray[Any]] = {}

    def encode(self, value: Any, description: str) -> Any:
        """Return the JSON data of a value; `description` names the value in error messages.

        Raise `ModelFileError` if the type of the value is not supported.
        """
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
            parts = [self.encode(part, description) for part in value]
            return parts if isinstance(value, list) else {"tuple": parts}
        if isinstance(value, Mapping):
            pairs = [
                [self.encode(key, description), self.encode(entry, f"{description}[{key!r}]")]
                for key, entry in value.items()
            ]
            return {"mapping": pairs}
        if isinstance(value, np.ndarray):
            return self._store_array(value, description)
        if isinstance(value, sp.csr_array):
            return {
                "sparse": [self._store_array(a, description) for a in (value.data, value.indices, value.indptr)],
                "of": value.shape,
            }
        if is_scaled_rows(value):
            return {"scaled rows": [self.encode(part, description) for part in value.parts]}
        if isinstance(value, Bags):
            return {"bags": [self.encode(value.instances, description), self._store_array(value.offsets, description)]}
        if isinstance(value, BagRows):
            return {"bag rows": self.encode(value.bags, description) if value.shape[0] else None, "of": value.shape[1]}
        if type(value) in _RECORD_NAMES:
            names = [field.name for field in fields(value)]
            return {"a": _RECORD_NAMES[type(value)]} | {
                key: self.encode(getattr(value, key), f"{description}.{key}") for key in names
            }
        if isinstance(value, Scheme) and _is_registered(value):
            names = [field.name for field in fields(value)]  # type: ignore[arg-type]  # a dataclass
            return {"scheme": value.name} | {
                key: self.encode(getattr(value, key), f"{description}.{key}") for key in names
            }
        raise ModelFileError(
            f"The model cannot be saved, because {description} is {value!r}: a file can contain numbers, strings, "
            "arrays, milopt's own kernels and options, and registered schemes, but not code."
        )

    def _store_array(self, array: npt.NDArray[Any], description: str) -> Any:
        """Store an array and return JSON data that refers to it; an array of objects is encoded entry by entry."""
        if array.dtype.hasobject:
            return {"objects": [self.encode(entry, description) for entry in array.ravel().tolist()], "of": array.shape}
        if array.dtype.kind == "U":
            try:
                check_unicode(array)
            except ValueError as error:
                raise ModelFileError(
                    f"The model cannot be saved, because {description} is not valid text: {error}."
                ) from error
        name = f"{len(self.arrays):04d}"
        self.arrays[name] = array
        return {"array": name}


def decode(code: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    """Return the value of JSON data that `Encoder.encode` returned; `arrays` has the stored arrays by name.

    Raise a ValueError, KeyError or TypeError, among others, if the data are invalid.
    """
    if isinstance(code, list):
        return [decode(part, arrays) for part in code]
    if not isinstance(code, dict):
        return code
    if "number" in code:
        return float(code["number"])
    if "tuple" in code:
        return tuple(decode(part, arrays) for part in code["tuple"])
    if "mapping" in code:
        return {decode(key, arrays): decode(entry, arrays) for key, entry in code["mapping"]}
    if "array" in code:
        return arrays[code["array"]]
    if "objects" in code:
        flat = np.empty(len(code["objects"]), dtype=object)
        flat[:] = [decode(entry, arrays) for entry in code["objects"]]
        return flat.reshape(code["of"])
    if "sparse" in code:
        data, indices, indptr = (decode(part, arrays) for part in code["sparse"])
        rows = sp.csr_array((data, indices, indptr), shape=tuple(code["of"]))
        rows.check_format(full_check=True)
        return rows
    if "scaled rows" in code:
        return ScaledRows(*(decode(part, arrays) for part in code["scaled rows"]))
    if "bags" in code:
        instances, offsets = (decode(part, arrays) for part in code["bags"])
        return Bags(instances, offsets)
    if "bag rows" in code:
        bags = decode(code["bag rows"], arrays)
        if bags is not None:
            return BagRows(bags)
        if not 0 < code["of"] <= MAX_SPARSE_FEATURES:
            raise ValueError("rows of bags have an impossible number of features")
        return BagRows(Bags(np.zeros((1, code["of"])), [0, 1]))[:0]
    if "one of" in code:
        return _ENUMS[code["one of"]](code["value"])
    values = {key: decode(part, arrays) for key, part in code.items() if key not in ("a", "scheme")}
    scheme = code.get("scheme") or _SCHEME_NAMES_BY_CLASS.get(code["a"])
    if scheme is not None:
        return scheme_class(scheme)(**values)
    record_class = _RECORDS[code["a"]]
    if record_class is Options and isinstance(values.get("form"), str):
        values["form"] = _RENAMED_FORMS.get(values["form"], values["form"])
    record = record_class(**{current_field_name(record_class, key): value for key, value in values.items()})
    if isinstance(record, _CHECKED_RECORDS):
        check_fields(record)
    return record


def current_field_name(cls: type, name: str) -> str:
    """Return the current name of a field of a class, given its name in a file, possibly of an older version."""
    return name if name in signature(cls).parameters else _RENAMED_FIELDS.get(name, name)


def _is_registered(scheme: Scheme) -> bool:
    """Return True if the scheme's name is registered for its class, and the class is a dataclass.

    The fields of a dataclass are sufficient to build the scheme again.
    """
    is_found = scheme.name in scheme_names() and scheme_class(scheme.name) is type(scheme)
    return is_found and is_dataclass(type(scheme))
