"""How much of a file is read at most: what keeps a hostile or broken file from taking the memory or the day.

A plain file is as large as the person made it, and is read to its end. What is packed can be a thousand times larger
than it looks: beyond these bounds it is given up, and the message says to unpack it.
"""

from __future__ import annotations

UNPACKED_BYTES, UNPACKED_RATIO = 8 << 20, 10
"""A gzip file may unpack to so many bytes of text and, beyond that, to so many times its own size."""

UNPACKED_VALUES = 32 << 20
"""Numbers that a packed array (.npz, .mat) may unpack to."""

LINE_BYTES = 16 << 20
"""Bytes of one line, and of one row that goes over several lines."""

EMPTY_LINES = 1 << 18
"""Lines with nothing in them."""

HEADER_LINES = 1 << 16
"""Lines before the data of a `.ts` file."""

COLUMNS = 1 << 20
"""Columns of a table, written out one by one."""

SPARSE_FEATURES = 1 << 24
"""The largest feature index of a sparse row."""

NAMES = 1 << 21
"""Names of bags and labels in an array file, which are looked at one by one."""

NAME_LENGTH = 200
"""Characters of a bag's name or of a label."""
