"""Conversion of the data of an evaluation: data sets, names, files, or pairs of bags and labels."""

from __future__ import annotations

import os

import numpy as np

from milopt.arrays import Labels
from milopt.data.data_set import DataSet
from milopt.declaration.bags.bags import as_bags
from milopt.declaration.bags.labels import as_labels
from milopt.errors import BagsError, ParameterError
from milopt.evaluation.task import TaskData


def as_data_set(data: object) -> DataSet:
    """Return a data set: the given one, or one from a name, a file, or a pair (bags, labels)."""
    if isinstance(data, DataSet):
        return data
    if isinstance(data, (str, os.PathLike)):
        import milopt

        return milopt.load_data(data)
    if isinstance(data, tuple) and len(data) == 2:
        bags, labels = as_bags(data[0]), as_labels(data[1])
        if labels.size != len(bags):
            raise BagsError(f"There are {labels.size} labels for {len(bags)} bags: give one label per bag.")
        return DataSet("bags", bags, labels, tuple(map(str, range(len(bags)))))
    raise ParameterError(f"data must be a data set, its name or file, or a pair (bags, labels), not {data!r}.")


def list_data_sets(data: object) -> list[object]:
    """Return the data arguments of an evaluation: the elements of a list, or one argument.

    Raise `ParameterError` if the list is empty, or if an element is not a data set, its name or file, or a pair.
    """
    if not isinstance(data, list):
        return [data]
    if not data:
        raise ParameterError("data is an empty list: give at least one data set.")
    if any(not isinstance(each, (DataSet, str, os.PathLike, tuple)) for each in data):
        raise ParameterError(
            "A list of data has one data set, name, file or pair (bags, labels) per element; for one list of bags, "
            "give the pair (bags, labels)."
        )
    return list(data)


def official_training_size(data: DataSet) -> int | None:
    """Return the number of bags in the official training part; None if the data set has no official test part."""
    return None if data.test is None else len(data.bags)


def all_labels(data: DataSet) -> Labels:
    """Return the labels of all bags, those of the official test part last."""
    return data.labels if data.test is None else np.concatenate([data.labels, data.test.labels])


def as_task_data(data: DataSet) -> TaskData:
    """Return all bags of a data set, those of the official test part last."""
    if data.test is None:
        return TaskData(data.bags, data.labels)
    return TaskData(as_bags([*data.bags, *data.test.bags], name=data.name), all_labels(data))
