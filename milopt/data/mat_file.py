"""MATLAB files (`.mat`, -v7 or older) in the layouts that multiple-instance data come in.

* a cell array of bags (n_i x D each) and a vector of labels;
* a cell array with a row a bag, its instances first and its label last;
* a matrix of instances (full or sparse), the bag of each (`bag_ids`) and the label of each;
* a dataset of PRTools and the MIL toolbox: `data`, `nlab`, `lablist`, `ident.milbag`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Points
from milopt.data.data_set import DataSet
from milopt.data.gathering import long_table, with_labels
from milopt.data.limits import NAMES
from milopt.data.matlab_format import BrokenFileError, Cell, Value, variables
from milopt.data.messages import file_error, shown
from milopt.declaration.arrays import csr
from milopt.declaration.bags.bags import as_bags
from milopt.errors import BagsError, DataError

_LABELS = ("labels", "label", "y", "targets", "target", "classes", "class", "baglabels", "baglabel")
_IDS = ("bagids", "bagid", "bagindex", "bagindices", "bagnumber", "milbag", "ids", "bag")
_MATRICES = ("features", "instances", "x", "data")
_WANTED = "save a cell array bags and a vector labels, or a matrix X with bag_ids and labels"


def read_mat(path: Path, name: str, labelled: bool = True) -> DataSet:
    """The bags of a MATLAB file; where bags need not be labelled, a matrix with bag_ids is enough."""
    try:
        content = path.read_bytes()
        if content.startswith((b"\x89HDF", b"MATLAB 7.3")):
            raise file_error(path, "this is a MATLAB file of version 7.3 (HDF5), which is not read; save it with -v7")
        found = variables(content)
    except OSError as error:
        raise file_error(path, f"the file cannot be read ({error.strerror})") from None
    except BrokenFileError as error:
        raise file_error(path, f"the MATLAB file cannot be read ({error})") from None
    return _File(path, name, found, labelled).data_set()


class _File:
    """The variables of one file, and the layout that they are in."""

    def __init__(self, path: Path, name: str, found: dict[str, Value], labelled: bool) -> None:
        structs = [value for value in found.values() if isinstance(value, dict)]
        if len(found) == 1 and structs:
            found = structs[0]
        self.path, self.name, self.labelled = path, name, labelled
        self.variables = {key.casefold().replace("_", ""): value for key, value in found.items()}

    def data_set(self) -> DataSet:
        """The bags, by the first layout that fits."""
        ident = self.variables.get("ident")
        if isinstance(ident, dict) and {"data", "nlab", "lablist"} <= self.variables.keys():
            return self._toolbox(ident)
        cells = [value for value in self.variables.values() if isinstance(value, Cell) and _holds_bags(value)]
        if len(cells) == 1:
            return self._cells(cells[0])
        matrix = self._first(_MATRICES)
        if isinstance(matrix, (np.ndarray, sp.csc_array)):
            return self._rows(matrix)
        names = ", ".join(shown(key) for key in list(self.variables)[:8]) or "nothing"
        raise self._error(f"the file holds {names}, in which no bags are found; {_WANTED}")

    def _cells(self, cells: Cell) -> DataSet:
        count, width = cells.shape[0], len(cells.items) // max(cells.shape[0], 1)
        labels = self._first(_LABELS)
        if labels is None and width in (2, 3):
            # Column order: the last column is the labels, the one before it the bags.
            bags, last = cells.items[(width - 2) * count : (width - 1) * count], cells.items[(width - 1) * count :]
            texts = [text for one in last for text in self._texts(one, "label")]
        elif labels is not None and min(cells.shape) == 1:
            bags, texts = cells.items, self._texts(labels, "labels")
        else:
            raise self._error(f"there is a cell array of bags and no labels to it; {_WANTED}")
        try:
            made = as_bags([self._numbers(bag, f"bag {i}") for i, bag in enumerate(bags)], name=self.name)
        except BagsError as error:
            raise self._error(str(error).rstrip(".")) from None
        return with_labels(made, texts, self.name, self.path, labelled=self.labelled)

    def _rows(self, matrix: Value) -> DataSet:
        ids, labels = self._first(_IDS), self._first(_LABELS)
        if ids is None or (labels is None and self.labelled):
            missing = "bag_ids" if ids is None else "labels"
            raise self._error(f"there is a matrix of instances and no variable {missing}; {_WANTED}")
        names = self._texts(ids, "bag_ids")
        texts = [""] * len(names) if labels is None else self._texts(labels, "labels")
        rows = self._numbers(matrix, "the matrix")
        return long_table(names, texts, rows, self.name, self.path, labelled=self.labelled)

    def _toolbox(self, ident: dict[str, Value]) -> DataSet:
        """Labels are the instances' own: a bag is positive where one of its instances is."""
        kinds = self._texts(self.variables["lablist"], "lablist")
        milbag = {key.casefold(): value for key, value in ident.items()}.get("milbag")
        if milbag is None:
            raise self._error("the dataset has no ident.milbag, so its bags are not known")
        names, codes = self._texts(milbag, "milbag"), self._texts(self.variables["nlab"], "nlab")
        if not {*codes} <= {str(i + 1) for i in range(len(kinds))} or len(codes) != len(names):
            raise self._error("the codes in nlab are not rows of lablist, one an instance")
        labels = [kinds[int(code) - 1] for code in codes]
        if "positive" in kinds:
            positive = {name for name, label in zip(names, labels, strict=True) if label == "positive"}
            labels = ["positive" if name in positive else label for name, label in zip(names, labels, strict=True)]
        return long_table(names, labels, self._numbers(self.variables["data"], "data"), self.name, self.path)

    def _first(self, names: Sequence[str]) -> Value | None:
        return next((self.variables[name] for name in names if name in self.variables), None)

    def _texts(self, value: Value, what: str) -> list[str]:
        """A vector of numbers or a list of words as words."""
        if isinstance(value, sp.csc_array) and 1 in value.shape and max(value.shape) <= NAMES:
            value = value.toarray()
        if isinstance(value, np.ndarray) and value.size == max(value.shape) <= NAMES:
            return [str(one) for one in value.ravel().tolist()]
        if isinstance(value, Cell):
            return [text for one in value.items if not isinstance(one, Cell) for text in self._texts(one, what)]
        if isinstance(value, list):
            return value
        raise self._error(f"{what} must be a vector of numbers or of words, with at most {NAMES} entries")

    def _numbers(self, value: Value, what: str) -> Points:
        if isinstance(value, sp.csc_array):
            return csr(value)
        if isinstance(value, np.ndarray) and value.ndim == 2:
            return np.asarray(value, dtype=np.float64)
        raise self._error(f"{what} must be a matrix of numbers, one row an instance")

    def _error(self, problem: str) -> DataError:
        return file_error(self.path, problem)


def _holds_bags(cells: Cell) -> bool:
    return any(isinstance(one, (np.ndarray, sp.csc_array)) and max(one.shape) > 1 for one in cells.items)
