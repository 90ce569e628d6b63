"""Versions of installed packages, read from their metadata without importing them."""

from __future__ import annotations

_VERSION_CACHE: dict[str, str] = {}


def installed_version(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed. Versions are cached."""
    from importlib.metadata import PackageNotFoundError, version

    if package not in _VERSION_CACHE:
        try:
            _VERSION_CACHE[package] = version(package)
        except PackageNotFoundError:
            return None
    return _VERSION_CACHE[package]
