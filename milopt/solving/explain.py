"""Who could solve a program: one line a solver, yes or the reason why not."""

from __future__ import annotations
