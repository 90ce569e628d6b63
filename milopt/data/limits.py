"""Limits on the size of data files, against hostile or broken files.

A plain file may have any size. A compressed file can be a thousand times larger than it looks: if it exceeds the limits
on unpacked data, it is rejected with a message that asks for a decompressed file.
"""

from __future__ import annotations

MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO = 8 << 20, 10
"""A gzip file may decompress to MAX_UNPACKED_BYTES bytes plus MAX_UNPACKED_RATIO times its own size."""

MAX_UNPACKED_VALUES = 32 << 20
"""Maximum number of values that a compressed array (.npz, .mat) may decompress to."""

MAX_LINE_BYTES = 16 << 20
"""Maximum number of bytes of a line, and of a row that spans several lines."""

MAX_EMPTY_LINES = 1 << 18
"""Maximum number of empty lines in a file."""

MAX_HEADER_LINES = 1 << 16
"""Maximum number of lines before the data of a `.ts` file."""

MAX_TABLE_COLUMNS = 1 << 20
"""Maximum number of columns of a table."""

MAX_SPARSE_FEATURES = 1 << 24
"""Maximum feature index of a sparse row."""

MAX_NAMES = 1 << 21
"""Maximum number of bag names or labels in an array file."""

MAX_NAME_LENGTH = 200
"""Maximum number of characters of a bag name or of a label."""
