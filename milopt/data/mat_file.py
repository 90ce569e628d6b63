"""Reader of MATLAB files (`.mat`, -v7 or older) in the usual layouts of multiple-instance data.

* a cell array of bags (n_i x D each) and a vector of labels;
* a cell array with one row per bag, its instances first and its label last;
* a matrix of instances (full or sparse), with the bag (`bag_ids`) and the label of each instance;
* a dataset of PRTools and the MIL toolbox: `data`, `nlab`, `lablist`, `ident.milbag`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Points
from milopt.data.data_set import DataSet
from milopt.data.limits import MAX_NAMES
from milopt.data.matlab_format import BrokenFileError, CellArray, Value, read_variables
from milopt.data.messages import file_error, quote
from milopt.data.row_grouping import group_rows, label_bags
from milopt.declaration.array_conversion import as_canonical_csr
from milopt.declaration.bags.bags import as_bags
from milopt.errors import BagsError, DataError

_LABEL_NAMES = ("labels", "label", "y", "targets", "target", "classes", "class", "baglabels", "baglabel")
"""Accepted names of the variable with the labels, in lower case without underscores."""
_BAG_ID_NAMES = ("bagids", "bagid", "bagindex", "bagindices", "bagnumber", "milbag", "ids", "bag")
"""Accepted names of the variable with the bag of each instance, in lower case without underscores."""
_MATRIX_NAMES = ("features", "instances", "x", "data")
"""Accepted names of the matrix of instances, in lower case without underscores."""
_LAYOUT_ADVICE = "save a cell array bags and a vector labels, or a matrix X with bag_ids and labels"
"""Advice in error messages."""


def read_mat(path: Path, name: str, labelled: bool = True) -> DataSet:
    """Read the bags of a MATLAB file. If `labelled` is False, a matrix with bag_ids is sufficient."""
    try:
        content = path.read_bytes()
        if content.startswith((b"\x89HDF", b"MATLAB 7.3")):
            raise file_error(path, "MATLAB files of version 7.3 (HDF5) are not supported; save it with -v7")
        values = read_variables(content)
    except OSError as error:
        raise file_error(path, f"the file cannot be read ({error.strerror})") from None
    except BrokenFileError as error:
        raise file_error(path, f"the MATLAB file cannot be read ({error})") from None
    return _MatFile(path, name, values, labelled).data_set()


class _MatFile:
    """Variables of one MATLAB file (or the fields of its only struct), with one method per layout."""

    def __init__(self, path: Path, name: str, values: dict[str, Value], labelled: bool) -> None:
        structs = [value for value in values.values() if isinstance(value, dict)]
        if len(values) == 1 and structs:
            values = structs[0]
        self.path, self.name, self.labelled = path, name, labelled
        self.variables = {key.casefold().replace("_", ""): value for key, value in values.items()}

    def data_set(self) -> DataSet:
        """Return the data set by the first layout that fits: toolbox, cells, matrix; raise an error if none fits."""
        ident = self.variables.get("ident")
        if isinstance(ident, dict) and {"data", "nlab", "lablist"} <= self.variables.keys():
            return self._data_from_prtools(ident)
        cells = [value for value in self.variables.values() if isinstance(value, CellArray) and _has_bags(value)]
        if len(cells) == 1:
            return self._data_from_cells(cells[0])
        matrix = self._first_variable(_MATRIX_NAMES)
        if isinstance(matrix, (np.ndarray, sp.csc_array)):
            return self._data_from_matrix(matrix)
        names = ", ".join(quote(key) for key in list(self.variables)[:8]) or "nothing"
        raise self._make_error(f"the file contains {names}, and none of them has bags; {_LAYOUT_ADVICE}")

    def _data_from_cells(self, cells: CellArray) -> DataSet:
        """Return the data set of a cell array of bags, with labels in a variable or in the last column of cells."""
        count, width = cells.shape[0], len(cells.items) // max(cells.shape[0], 1)
        labels = self._first_variable(_LABEL_NAMES)
        if labels is None and width in (2, 3):
            # Cells are in column-major order: the last column has the labels, the column before it the bags.
            bags, last = cells.items[(width - 2) * count : (width - 1) * count], cells.items[(width - 1) * count :]
            texts = [text for cell in last for text in self._as_texts(cell, "label")]
        elif labels is not None and min(cells.shape) == 1:
            bags, texts = cells.items, self._as_texts(labels, "labels")
        else:
            raise self._make_error(f"there is a cell array of bags without labels; {_LAYOUT_ADVICE}")
        try:
            converted = as_bags([self._as_points(bag, f"bag {i}") for i, bag in enumerate(bags)], name=self.name)
        except BagsError as error:
            raise self._make_error(str(error).rstrip(".")) from None
        return label_bags(converted, texts, self.name, self.path, labelled=self.labelled)

    def _data_from_matrix(self, matrix: Value) -> DataSet:
        """Return the data set of a matrix of instances, with variables for the bag and the label of each instance."""
        ids, labels = self._first_variable(_BAG_ID_NAMES), self._first_variable(_LABEL_NAMES)
        if ids is None or (labels is None and self.labelled):
            missing = "bag_ids" if ids is None else "labels"
            raise self._make_error(f"there is a matrix of instances, but no variable {missing}; {_LAYOUT_ADVICE}")
        names = self._as_texts(ids, "bag_ids")
        texts = [""] * len(names) if labels is None else self._as_texts(labels, "labels")
        rows = self._as_points(matrix, "the matrix")
        return group_rows(names, texts, rows, self.name, self.path, labelled=self.labelled)

    def _data_from_prtools(self, ident: dict[str, Value]) -> DataSet:
        """Return the data set of a PRTools dataset.

        The labels of such a dataset belong to instances. If there is a label "positive", a bag is positive if one of
        its instances is; otherwise all instances of a bag must have the same label.
        """
        kinds = self._as_texts(self.variables["lablist"], "lablist")
        milbag = {key.casefold(): value for key, value in ident.items()}.get("milbag")
        if milbag is None:
            raise self._make_error("the dataset has no ident.milbag, which states the bags")
        names, codes = self._as_texts(milbag, "milbag"), self._as_texts(self.variables["nlab"], "nlab")
        if not {*codes} <= {str(i + 1) for i in range(len(kinds))} or len(codes) != len(names):
            raise self._make_error("nlab must have one row number of lablist per instance")
        labels = [kinds[int(code) - 1] for code in codes]
        if "positive" in kinds:
            positive = {name for name, label in zip(names, labels, strict=True) if label == "positive"}
            labels = ["positive" if name in positive else label for name, label in zip(names, labels, strict=True)]
        return group_rows(names, labels, self._as_points(self.variables["data"], "data"), self.name, self.path)

    def _first_variable(self, names: Sequence[str]) -> Value | None:
        """Return the first variable with one of these names, or None."""
        return next((self.variables[name] for name in names if name in self.variables), None)

    def _as_texts(self, value: Value, name: str) -> list[str]:
        """Return a vector of numbers, cells or rows of text as a list of strings; `name` is used in the message."""
        if isinstance(value, sp.csc_array) and 1 in value.shape and max(value.shape) <= MAX_NAMES:
            value = value.toarray()
        if isinstance(value, np.ndarray) and value.size == max(value.shape) <= MAX_NAMES:
            return [str(entry) for entry in value.ravel().tolist()]
        if isinstance(value, CellArray):
            return [
                text for item in value.items if not isinstance(item, CellArray) for text in self._as_texts(item, name)
            ]
        if isinstance(value, list):
            return value
        raise self._make_error(f"{name} must be a vector of numbers or strings, with at most {MAX_NAMES} entries")

    def _as_points(self, value: Value, name: str) -> Points:
        """Return a dense or sparse matrix as floats, or raise an error; `name` is used in the message."""
        if isinstance(value, sp.csc_array):
            return as_canonical_csr(value)
        if isinstance(value, np.ndarray) and value.ndim == 2:
            return np.asarray(value, dtype=np.float64)
        raise self._make_error(f"{name} must be a matrix of numbers, one row per instance")

    def _make_error(self, problem: str) -> DataError:
        """Return (do not raise) an error that names the file."""
        return file_error(self.path, problem)


def _has_bags(cells: CellArray) -> bool:
    """Return True if one of the cells contains a vector or matrix of numbers."""
    return any(isinstance(item, (np.ndarray, sp.csc_array)) and max(item.shape) > 1 for item in cells.items)
