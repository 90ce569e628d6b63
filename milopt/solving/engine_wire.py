"""Encode forms and answers as bytes for an engine in another process: npz archives of arrays with a JSON header."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.compilation.answer import Answer
from milopt.compilation.inertia import Inertia
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.compilation.status import Termination
from milopt.cones import get_cone

Arrays = Mapping[str, np.ndarray[Any, Any]]
Header = dict[str, Any]


def pack_message(header: Header, arrays: Arrays) -> bytes:
    """Encode a header, which must be plain JSON data, and arrays as an npz archive."""
    archive = io.BytesIO()
    np.savez(archive, allow_pickle=False, header=np.array(json.dumps(header)), **arrays)
    return archive.getvalue()


def unpack_message(packed: bytes) -> tuple[Header, dict[str, np.ndarray[Any, Any]]]:
    """Decode an archive that `pack_message` has encoded; return (header, arrays)."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files if name != "header"}
        return json.loads(str(file["header"])), arrays


def pack_form(form: StandardForm) -> bytes:
    """Encode a form without the labels of its rows and columns, which a solver does not need."""
    header: Header = {
        "name": form.name,
        "constant": form.constant,
        "maximize": form.maximize,
        "known_convex": form.known_convex,
        "columns": [[block.name, block.start, block.stop, block.scalar] for block in form.columns],
        "rows": [_pack_row_block(block) for block in form.rows],
        "pieces": len(form.P.pieces),
    }
    arrays = {name: getattr(form, name) for name in ("q", "g", "lower", "upper", "integer")}
    arrays |= _pack_matrix("F", form.F)
    for k, piece in enumerate(form.P.pieces):
        arrays |= _pack_matrix(f"R{k}", piece.rows) | {f"W{k}": np.asarray(piece.weight)}
    return pack_message(header, arrays)


def unpack_form(packed: bytes) -> StandardForm:
    """Decode a form encoded by `pack_form`."""
    header, arrays = unpack_message(packed)
    pieces = tuple(QuadraticPiece(_unpack_matrix(f"R{k}", arrays), arrays[f"W{k}"]) for k in range(header["pieces"]))
    return StandardForm(
        name=header["name"],
        P=Quadratic(arrays["q"].size, pieces),
        q=arrays["q"],
        constant=header["constant"],
        F=_unpack_matrix("F", arrays),
        g=arrays["g"],
        lower=arrays["lower"],
        upper=arrays["upper"],
        integer=arrays["integer"],
        columns=tuple(ColumnBlock(*place, scalar=scalar) for *place, scalar in header["columns"]),
        rows=tuple(_unpack_row_block(*row) for row in header["rows"]),
        maximize=header["maximize"],
        known_convex=header["known_convex"],
    )


def _pack_row_block(block: RowBlock) -> list[Any]:
    """Return the description of a row block as plain data, which `_unpack_row_block` takes as its arguments."""
    sizes = None if block.sizes is None else block.sizes.tolist()
    return [block.name, block.cone.name, block.start, block.stop, sizes]


def _unpack_row_block(name: str, cone: str, start: int, stop: int, sizes: list[int] | None) -> RowBlock:
    """Return the row block that `_pack_row_block` has described."""
    return RowBlock(name, get_cone(cone), start, stop, sizes=None if sizes is None else np.array(sizes, dtype=np.intp))


def pack_answer(answer: Answer) -> bytes:
    """Encode the answer of a solver."""
    inertia = answer.inertia
    header: Header = {
        "termination": answer.termination.value,
        "raw_status": answer.raw_status,
        "bound": answer.bound if answer.bound is None or math.isfinite(answer.bound) else None,
        "iterations": int(answer.iterations),
        "log": answer.log,
        "inertia": inertia and [inertia.positive, inertia.zero, inertia.negative, inertia.smallest],
    }
    points = {"x": answer.x, "z": answer.z}
    return pack_message(header, {name: values for name, values in points.items() if values is not None})


def unpack_answer(packed: bytes) -> Answer:
    """Decode an answer encoded by `pack_answer`."""
    header, arrays = unpack_message(packed)
    return Answer(
        Termination(header["termination"]),
        header["raw_status"],
        arrays.get("x"),
        arrays.get("z"),
        header["bound"],
        header["iterations"],
        header["log"],
        inertia=None if header["inertia"] is None else Inertia(*header["inertia"]),
    )


def _pack_matrix(name: str, matrix: sp.csr_array) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of a sparse matrix by names that begin with `name`."""
    parts = {part: np.asarray(getattr(matrix, part)) for part in ("data", "indices", "indptr", "shape")}
    return {f"{name}_{part}": values for part, values in parts.items()}


def _unpack_matrix(name: str, arrays: Arrays) -> sp.csr_array:
    """Return the sparse matrix that `_pack_matrix` has stored under names that begin with `name`."""
    data, indices, indptr, shape = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return sp.csr_array((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))
