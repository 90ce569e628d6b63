"""How much of a file is read at most: what keeps a hostile or broken file from taking the memory or the day.

A plain file is as large as the person made it, and is read to its end. What is packed can be a thousand times larger
than it looks: it is given up at these bounds, and the message says to unpack it.
"""

from __future__ import annotations

UNPACKED_BYTES = 64 << 20
"""Bytes of text that a gzip file may unpack to."""

UNPACKED_VALUES = 32 << 20
"""Numbers that a packed array (.npz, .mat) may unpack to."""

LINE_BYTES = 16 << 20
"""Bytes of one line, and of one row that goes over several lines."""

COLUMNS = 1 << 20
"""Columns of a table, written out one by one."""

SPARSE_FEATURES = 1 << 24
"""The largest feature index of a sparse row."""

NAME_LENGTH = 200
"""Characters of a bag's name or of a label."""
