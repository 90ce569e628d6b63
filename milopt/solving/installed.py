"""Which version of a package is installed, found by its metadata: nothing is imported."""

from __future__ import annotations

_FOUND: dict[str, str] = {}


def installed_version(package: str) -> str | None:
    """The version; None where the package is not there. What was found once is not looked up again."""
    from importlib.metadata import PackageNotFoundError, version

    if package not in _FOUND:
        try:
            _FOUND[package] = version(package)
        except PackageNotFoundError:
            return None
    return _FOUND[package]
