"""Missing values are allowed up to an imputer; models and programs name the imputer in their errors."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import milopt
from milopt import InstanceTransformer
from milopt.data import from_frame
from milopt.errors import BagsError, DataError
from milopt.models import SetKernelSVM

RNG = np.random.default_rng(0)
COMPLETE = RNG.normal(size=(12, 3, 2)) + np.repeat([0, 3], 6)[:, None, None]
Y = np.repeat([0, 1], 6)
GIVEN = COMPLETE.copy()
GIVEN[1, 2, 0] = GIVEN[8, 0, 1] = np.nan


def test_an_imputer_fills_in_missing_values() -> None:
    filled = InstanceTransformer(SimpleImputer()).fit(GIVEN).transform(GIVEN)
    rows = GIVEN.reshape(-1, 2)
    assert np.array_equal(filled.instances, SimpleImputer().fit_transform(rows))


@pytest.mark.parametrize("bags", [GIVEN, list(GIVEN), milopt.as_bags(GIVEN, allow_nan=True)])
def test_a_pipeline_with_an_imputer_is_fitted_and_cross_validated(bags: object) -> None:
    model = make_pipeline(InstanceTransformer(SimpleImputer()), SetKernelSVM())
    assert model.fit(bags, Y).score(bags, Y) == 1.0
    assert cross_val_score(model, bags, Y, cv=3).mean() > 0.8


def test_frames_may_have_missing_values_for_an_imputer() -> None:
    rows = pd.DataFrame(GIVEN.reshape(-1, 2), columns=["a", "b"]).assign(
        bag=np.repeat(range(12), 3), label=np.repeat(Y, 3)
    )
    with pytest.raises(DataError, match="allow_missing=True"):
        from_frame(rows)
    data = from_frame(rows, allow_missing=True)
    assert make_pipeline(InstanceTransformer(SimpleImputer()), SetKernelSVM()).fit(data.bags, data.labels)
    with pytest.raises(BagsError, match="SimpleImputer"):
        SetKernelSVM().fit(data.bags, data.labels)


@pytest.mark.parametrize("spelling", ["", "NaN", "NA", "?"])
def test_tables_may_have_missing_values_for_an_imputer(tmp_path: Path, spelling: str) -> None:
    rows = pd.DataFrame(GIVEN.reshape(-1, 2), columns=["a", "b"]).assign(
        bag=np.repeat(range(12), 3), label=np.repeat(Y, 3)
    )
    file = tmp_path / "table.csv"
    rows.to_csv(file, index=False, na_rep=spelling)
    with pytest.raises(DataError, match=r"line 7: \"a\" is .*allow_missing=True .* imputer"):
        milopt.load_data(file)
    data = milopt.load_data(file, allow_missing=True)
    assert np.array_equal(data.bags.instances, GIVEN.reshape(-1, 2), equal_nan=True)
    assert make_pipeline(InstanceTransformer(SimpleImputer()), SetKernelSVM()).fit(data.bags, data.labels)
    with pytest.raises(BagsError, match="SimpleImputer"):
        SetKernelSVM().fit(data.bags, data.labels)


@pytest.mark.parametrize("wrong", ["inf", "x"])
def test_other_values_of_a_table_are_not_missing(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(f"bag,label,a\n0,0,\n1,1,{wrong}\n")
    with pytest.raises(DataError, match="line 3"):
        milopt.load_data(file, allow_missing=True)
    rows = tmp_path / "rows.svm"
    rows.write_text("1 qid:1 1:1\n")
    with pytest.raises(DataError, match="tables only"):
        milopt.load_data(rows, allow_missing=True)


@pytest.mark.parametrize("change", [lambda bags: bags, lambda bags: bags[:4], lambda bags: bags[[8, 1]], pickle.dumps])
def test_bags_with_missing_values_are_not_accepted_by_models_and_programs(change) -> None:
    bags = change(milopt.as_bags(GIVEN, allow_nan=True))
    bags = pickle.loads(bags) if isinstance(bags, bytes) else bags
    f = milopt.Program("missing").function("f", milopt.Linear())
    for call in (lambda: f(bags), lambda: milopt.as_bags(bags)):
        with pytest.raises(BagsError, match=r"NaN .*: every value must be finite; InstanceTransformer\(SimpleImputer"):
            call()


def test_bags_without_missing_values_are_accepted_after_a_selection() -> None:
    bags = milopt.as_bags(GIVEN, allow_nan=True)[[0, 11]]
    assert milopt.as_bags(bags) is bags


def test_infinite_values_are_not_missing() -> None:
    wrong = GIVEN.copy()
    wrong[0, 0, 0] = np.inf
    with pytest.raises(BagsError, match="inf"):
        milopt.as_bags(wrong, allow_nan=True)
