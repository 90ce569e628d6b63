"""Data of a release: version, supported Python versions and commands are the same in all files that state them."""

from __future__ import annotations

import re

import pytest

import milopt
from tests.packaging.source_tree import PROJECT, ROOT

yaml = pytest.importorskip("yaml", reason="needs PyYAML, which is installed with the extra milopt[docs]")

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
METADATA = PROJECT["project"]
"""The table `project` of pyproject.toml."""


def commands(job: str) -> list[str]:
    """Return the commands that a job of the workflow runs."""
    return [step["run"] for step in WORKFLOW["jobs"][job]["steps"] if "run" in step]


def pythons_of(job: str) -> list[str]:
    """Return the Python versions in the matrix of a job."""
    versions = WORKFLOW["jobs"][job]["strategy"]["matrix"]["python"]
    # Without quotes, YAML reads 3.10 as the number 3.1.
    assert all(isinstance(version, str) for version in versions)
    return versions


def classified_pythons() -> list[str]:
    """Return the Python versions that the classifiers name."""
    found = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one) for one in METADATA["classifiers"])
    return [match[1] for match in found if match]


def test_the_workflow_tests_the_supported_python_versions() -> None:
    assert pythons_of("tests") == classified_pythons()
    assert METADATA["requires-python"] == f">={classified_pythons()[0]}"
    for job in ("install", "archives"):
        assert pythons_of(job) == [classified_pythons()[0], classified_pythons()[-1]]
    for page in ("README.md", "docs/installation.md"):
        assert f"{classified_pythons()[0]} to {classified_pythons()[-1]}" in (ROOT / page).read_text(encoding="utf-8")


def test_the_workflow_runs_the_test_command_of_the_readme() -> None:
    stated = re.search(r"```sh\n(.+)\n```", (ROOT / "README.md").read_text(encoding="utf-8").split("## Tests")[1])
    assert stated is not None
    assert commands("tests") == [stated[1]]


def test_the_workflow_runs_scripts_that_exist() -> None:
    scripts = {word for job in WORKFLOW["jobs"] for line in commands(job) for word in line.split() if ".py" in word}
    assert len(scripts) >= 4
    assert [name for name in scripts if not (ROOT / name).is_file()] == []


def test_the_citation_file_has_the_required_fields_and_the_version() -> None:
    required = {"cff-version": "1.2.0", "type": "software", "license": METADATA["license"]}
    assert {key: CITATION[key] for key in required} == required
    assert CITATION["message"]
    assert CITATION["title"].startswith(METADATA["name"])
    assert CITATION["version"] == milopt.__version__
    assert CITATION["authors"] == METADATA["authors"]
    assert CITATION["keywords"] == METADATA["keywords"]


def test_the_newest_version_of_the_changelog_is_the_version_with_its_date() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(r"^## \[(\d.*)\] - (.*)$", text, re.MULTILINE)
    assert found is not None
    assert (found[1], found[2]) == (milopt.__version__, CITATION["date-released"])
