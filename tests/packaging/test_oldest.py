"""Lower bounds of dependencies as constraints for pip."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def oldest() -> ModuleType:
    """Load the script with its folder on the path, as when it runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        spec = importlib.util.spec_from_file_location("oldest", HERE / "oldest.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules.pop("source_tree", None)
        return module


@pytest.mark.parametrize(
    ("requirement", "constraint"),
    [
        ("numpy>=1.26", "numpy==1.26"),
        ("highspy[extras]>=1.15", "highspy==1.15"),
        ("scikit-learn >= 1.6.1", "scikit-learn==1.6.1"),
        ("ecos>=2.0.12; python_version < '3.13'", "ecos==2.0.12; python_version < '3.13'"),
    ],
)
def test_a_lower_bound_becomes_a_constraint(oldest: ModuleType, requirement: str, constraint: str) -> None:
    assert oldest.oldest([requirement]) == [constraint]


def test_a_requirement_without_a_lower_bound_is_an_error(oldest: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"'numpy' in pyproject\.toml is not a single lower bound"):
        oldest.oldest(["numpy"])


def test_every_dependency_of_users_has_a_lower_bound(oldest: ModuleType) -> None:
    assert len(oldest.oldest(oldest.requirements())) >= 14
