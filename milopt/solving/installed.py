"""Versions of installed packages, read from their metadata without importing them."""

from __future__ import annotations

_VERSIONS: dict[str, str] = {}


def installed_version(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed. Versions are cached."""
    from importlib.metadata import PackageNotFoundError, version

    if package not in _VERSIONS:
        try:
            _VERSIONS[package] = version(package)
        except PackageNotFoundError:
            return None
    return _VERSIONS[package]
