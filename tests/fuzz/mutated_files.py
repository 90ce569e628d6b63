"""Mutate saved models and Gram files, and check the outcome of loading them.

    python -m tests.fuzz.mutated_files model 5000 --seed 0
    python -m tests.fuzz.mutated_files gram 5000 --seed 0
    python -m tests.fuzz.mutated_files gram 5000 --seed 0 --digest

A mutation changes the decoded content (the JSON header, the arrays, the members of the zip) or the raw bytes. The
checksum is updated, except for some of the raw mutations. Loading a mutated file must raise an error of one sentence,
or give the scores (or the Gram matrix) of the original file. With `--digest`, the digest in the header of a Gram file
is updated too. A change of a number to another valid number then cannot be detected, so another Gram matrix is allowed,
but no other exception.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import hashlib
import io
import json
import random
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from milopt import RBF, BagClassifier, as_bags, load_model
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.count_cache import clear_count_cache
from milopt.bag_kernels.gram_file import _SAVED_FIELDS, _digest, load_gram
from milopt.errors import MiloptError
from milopt.models import MILES, MISVM, SAFE, BoxCountingSVM, SetKernelSVM, ShapeletBoost

DIGEST_DIGITS = 64
CHECKSUM_PREFIX = b"milopt model, sha256 "
MAX_SECONDS, MAX_BYTES = 5.0, 1 << 30
"""Largest time and memory for loading one file and using it."""
TOLERANCE = 1e-5
"""Largest difference of scores, relative to 1 + the largest score."""

NUMBERS: tuple[Any, ...] = (0, 1, -1, 2, 7, 0.5, -0.0, 1e-300, 1e300, -1e18, 2**31, 2**63, 2**64, 10**400, 10**12)
DEPTHS = (1, 2, 50, 900, 3000)
CODES: tuple[Any, ...] = (
    *(None, True, False, "", "x", "0000", "0001", "nan", [], {}, [[]], [1, 2], {"tuple": []}, {"mapping": []}),
    *({"number": "nan"}, {"number": "inf"}, {"number": "x"}, {"number": None}, {"array": "none"}, {"array": "0000"}),
    *({"a": "os"}, {"a": "RBF", "s": -1}, {"a": "Linear"}, {"a": "Options"}, {"one of": "Termination", "value": "x"}),
    *({"mapping": [[[], 1]]}, {"mapping": [[{"array": "0000"}, 1]]}, {"objects": [1], "of": [10**12]}, {"bags": []}),
    *({"sparse": [], "of": [1, 1]}, {"bag rows": None, "of": 10**12}, {"tuple": {"array": "0001"}}, {"one of": []}),
)


@dataclass
class Content:
    """Decoded file: its JSON header, its arrays, and additional members of the zip."""

    header: Any
    arrays: dict[str, np.ndarray]
    extra: list[tuple[str, bytes]] = field(default_factory=list)

    @classmethod
    def decode(cls, content: bytes) -> Content:
        """Decode the bytes of a file."""
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            header = json.loads(archive.read("header.json"))
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name))) for name in names}
        return cls(header, arrays)

    def encode(self) -> bytes:
        """Return the bytes of the file, with a valid checksum."""
        members = [("header.json", json.dumps(self.header).encode())]
        for name, array in self.arrays.items():
            stream = io.BytesIO()
            npy.write_array(stream, np.asarray(array), allow_pickle=array.dtype.hasobject)
            members.append((f"{name}.npy", stream.getvalue()))
        return zip_members(members + self.extra)


def zip_members(members: list[tuple[str, bytes]]) -> bytes:
    """Return a zip file of these members, with a valid checksum."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # duplicate names
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, content in members:
                archive.writestr(zipfile.ZipInfo(name), content)
            archive.comment = CHECKSUM_PREFIX + b"0" * DIGEST_DIGITS
    return update_checksum(buffer.getvalue())


def update_checksum(content: bytes) -> bytes:
    """Return the bytes with a valid checksum at their end."""
    body = content[:-DIGEST_DIGITS]
    return body + hashlib.sha256(body).hexdigest().encode()


# -- mutations -------------------------------------------------------------------------------------------------


def nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all pairs (container, key) of a JSON tree."""
    pairs = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    for key, part in pairs:
        yield tree, key
        yield from nodes(part)


def change_header(draw: random.Random, content: Content) -> str:
    """Remove, replace, rename, change, nest, duplicate or swap one node of the header, and return a description."""
    places = list(nodes(content.header))
    # In 40 % of the cases, pick a node of the first level; otherwise the many entries of results would dominate.
    if draw.random() < 0.4 and isinstance(content.header, dict):
        places = [(content.header, key) for key in content.header]
    if not places:
        content.header = draw.choice(CODES)
        return "header replaced"
    at, key = draw.choice(places)
    old = at[key]
    way = draw.randrange(8)
    if way == 0:
        del at[key]
        return f"header node {key!r} removed"
    if way == 1 and isinstance(at, dict):
        at[draw.choice(["x", "a", "array", "tuple", "number", "objects", "sparse", "bags"])] = at.pop(key)
        return f"header node {key!r} renamed"
    if way == 2:
        for _ in range(draw.choice(DEPTHS)):
            old = [old] if draw.random() < 0.5 else {"tuple": [old]}
        at[key] = old
        return f"header node {key!r} nested"
    if way == 3 and isinstance(old, (int, float)) and not isinstance(old, bool):
        large = abs(old) >= 1e300
        at[key] = draw.choice(
            [-old, old + 1, old * 2, 0 if large else old * 1e6, 1.0 if large else float(old), str(old)]
        )
        return f"header number {key!r} changed"
    if way == 4:
        other, name = draw.choice(places)
        if name in (other if isinstance(other, dict) else range(len(other))):
            at[key], other[name] = copy.deepcopy(other[name]), copy.deepcopy(old)
        return f"header nodes {key!r} and {name!r} swapped"
    if way == 5 and isinstance(at, list):
        at.insert(key, copy.deepcopy(old))
        return f"header node {key!r} doubled"
    at[key] = draw.choice(NUMBERS if way == 6 else CODES)
    return f"header node {key!r} replaced"


TYPES = ("<i1", "<f4", "<f2", "<c16", "<U5", "|S3", "?", ">f8", "<M8[s]", "<u8", "<i8", "<f8", "<i4", "V8")


def change_array(draw: random.Random, content: Content) -> str:
    """Change, remove, rename, duplicate or swap one array, and return a description."""
    if not content.arrays:
        return "no array"
    name = draw.choice(sorted(content.arrays))
    array = content.arrays[name]
    way = draw.randrange(12)
    if way == 0:
        del content.arrays[name]
        return f"array {name} removed"
    if way == 1:
        content.arrays[draw.choice(["x", "", "../x", "header", "\N{BLACK SUN WITH RAYS}", f"{name}.npy"])] = array
        if draw.random() < 0.5:
            del content.arrays[name]
        return f"array {name} renamed"
    if way == 2:
        stream = io.BytesIO()
        npy.write_array(stream, array[:0] if array.ndim and draw.random() < 0.5 else array, allow_pickle=True)
        content.extra.append((draw.choice([f"{name}.npy", "header.json", "more.npy", "x"]), stream.getvalue()))
        return f"member {name} added again"
    if way == 3:
        other = draw.choice(sorted(content.arrays))
        content.arrays[name], content.arrays[other] = content.arrays[other], array
        return f"arrays {name} and {other} swapped"
    if way == 4:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kind = draw.choice(TYPES)
                content.arrays[name] = array.view(kind) if draw.random() < 0.3 else array.astype(kind)
        except (TypeError, ValueError):
            content.arrays[name] = array.astype(object)
        return f"array {name} of another type"
    if way in (5, 6):
        content.arrays[name] = change_shape(draw, array)
        return f"array {name} of another shape"
    changed = array.copy()
    if changed.size == 0:
        return f"array {name} is empty"
    flat = changed.reshape(-1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if way == 7 and changed.ndim and len(changed) > 1:
            changed = np.roll(changed, draw.randrange(1, len(changed)), axis=0)
        elif way == 8 and changed.dtype.kind in "iuf":
            changed = (changed * draw.choice([0.0, -1.0, 2.0, 1 + 1e-9, 0.99, 1e9, 1e-9])).astype(changed.dtype)
        elif changed.dtype.kind in "iuf":
            some = [0, -1, 1, 3, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, draw.random(), draw.gauss(0, 10)]
            at = draw.randrange(flat.size)
            flat[at] = np.array([draw.choice([*some, float(flat[at]) * 1.01])]).astype(changed.dtype)[0]
        elif changed.dtype.kind == "U":
            at = draw.randrange(changed.nbytes // 4)
            changed.reshape(-1).view(np.uint32)[at] = draw.choice([0, 0xD800, 0x110000, 0xFFFFFFFF, 65])
        else:
            flat[draw.randrange(flat.size)] = 0
    content.arrays[name] = changed
    return f"array {name} of other values"


def change_shape(draw: random.Random, array: np.ndarray) -> np.ndarray:
    """Return the array in another shape."""
    ways: list[Callable[[], np.ndarray]] = [
        lambda: array.ravel(),
        lambda: array[None],
        lambda: array[..., None],
        lambda: array.T.copy(),
        lambda: np.asfortranarray(array),
        lambda: array.ravel()[:1].reshape(()) if array.size else array,
        lambda: array[:0] if array.ndim else array,
        lambda: array[:-1] if array.ndim else array,
        lambda: array[1:] if array.ndim else array,
        lambda: array[..., :-1] if array.ndim else array,
        lambda: np.concatenate([array, array[-1:]]) if array.ndim else array,
        lambda: np.concatenate([array, array]) if array.ndim else array,
        lambda: np.broadcast_to(array, (2, *array.shape)),
        lambda: np.zeros((0, 10**6)),
    ]
    return draw.choice(ways)()


def change_bytes(draw: random.Random, content: bytes) -> tuple[str, bytes]:
    """Flip, cut, repeat or insert bytes, and return a description and the bytes; in most cases, update the checksum."""
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 8])):
        # Half of the changes are near the end of the file, which contains the directory of the zip.
        at = draw.randrange(len(changed)) if draw.random() < 0.5 else max(0, len(changed) - draw.randrange(1, 3000))
        match draw.randrange(5):
            case 0 | 1:
                changed[at] ^= 1 << draw.randrange(8)
            case 2:
                changed[at : at + 4] = draw.choice([b"\xff" * 4, bytes(4), b"\xff\xff\xff\x7f", b"PK\x01\x02"])
            case 3:
                changed[at:at] = changed[at : at + draw.choice([1, 46, 200])]
            case 4:
                del changed[at : at + draw.choice([1, 8, 500])]
    if draw.random() < 0.2:
        del changed[draw.randrange(1, len(changed)) :]
    if draw.random() < 0.3:
        return "raw bytes", bytes(changed)
    body = bytes(changed)
    if not body[: -DIGEST_DIGITS or None].endswith(CHECKSUM_PREFIX):
        body += CHECKSUM_PREFIX + b"0" * DIGEST_DIGITS
    return "raw bytes, valid checksum", update_checksum(body)


def mutate(draw: random.Random, content: bytes, digest: bool = False) -> tuple[str, bytes]:
    """Return a description of a random mutation, and the mutated file.

    With `digest`, the digest in the header is updated too.
    """
    if draw.random() < 0.15:
        return change_bytes(draw, content)
    decoded, mutations = Content.decode(content), []
    recursion_limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * max(DEPTHS))  # to write headers that are nested too deeply to be read
    try:
        for _ in range(draw.choice([1, 1, 1, 2, 3])):
            mutations.append((change_header if draw.random() < 0.6 else change_array)(draw, decoded))
        if digest and isinstance(decoded.header, dict):
            with suppress(LookupError, TypeError, ValueError):  # the mutated file lacks the fields of the digest
                fields = {name: decoded.header["kernel"][name] for name in _SAVED_FIELDS}
                decoded.header["sha256"] = _digest(fields, decoded.arrays)
        return "; ".join(mutations), decoded.encode()
    finally:
        sys.setrecursionlimit(recursion_limit)


# -- original files and their results --------------------------------------------------------------------------


@dataclass(frozen=True)
class MutationCase:
    """Valid file, a function that loads and uses it, and the expected results of that function."""

    name: str
    content: bytes
    use: Callable[[Path], list[np.ndarray]]
    expected: list[np.ndarray]

    @classmethod
    def create(cls, name: str, save: Callable[[Path], object], use: Callable[[Path], list[np.ndarray]]) -> MutationCase:
        """Save a file, and store its bytes and results."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "file"
            save(path)
            return cls(name, path.read_bytes(), use, use(path))


def small_bags(count: int = 14, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
    """Return random bags with features of different scales, and their labels 0 and 1."""
    draw, y = np.random.default_rng(seed), np.arange(count) % 2
    bags = [draw.normal([2.0 * label, 0, 0], size=(int(draw.integers(1, 5)), 3)) for label in y]
    return [bag * [1.0, 100.0, 0.01] + [5.0, 0.0, 0.0] for bag in bags], y


def model_cases() -> list[MutationCase]:
    """Return cases with saved models of several classes and kinds of data."""
    bags, y = small_bags()
    new, _ = small_bags(seed=1)
    sparse, new_sparse = [sp.csr_array(bag) for bag in bags], [sp.csr_array(bag) for bag in new]
    series, new_series = ([bag[:1] + np.arange(9.0)[:, None] * bag[0] for bag in some] for some in (bags, new))
    labels, three = np.where(y == 1, "yes", "no"), np.arange(len(y)) % 3
    boosted = {"nu": 0.4, "atoms": 8, "kernel": RBF(0.7), "solver": "native", "random_state": 0}
    models: list[tuple[str, BagClassifier, object, object, object]] = [
        ("set-kernel-svm", SetKernelSVM(), bags, labels, new),
        ("mi-svm", MISVM(kernel=RBF("4/median"), scale="zscore"), bags, y, new),
        ("miles, sparse", MILES(), sparse, labels.astype(object), new_sparse),
        ("miles, 3 classes", MILES(), bags, three, new),
        ("safe", SAFE(), bags, y, new),
        ("box-counting", BoxCountingSVM(kernel=BoxCounting(bins=6)), bags, y, new),
        ("shapelets", ShapeletBoost(window=(4,), **boosted), series, y, new_series),  # type: ignore[arg-type]
    ]
    cases = []
    for name, model, training_bags, labels_of_bags, new_bags in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(training_bags, labels_of_bags)
        cases.append(
            MutationCase.create(
                name, model.save, lambda path, old=training_bags, new=new_bags: use_model(path, old, new)
            )
        )
    return cases


def use_model(path: Path, training_bags: object, new_bags: object) -> list[np.ndarray]:
    """Return the scores of training bags and new bags; predictions, the report and repr must not fail."""
    model = load_model(path)
    scores = [model.decision_function(training_bags), model.decision_function(new_bags)]
    model.predict(new_bags)
    json.dumps(model.report().as_dict())
    str(model.report())
    repr(model)
    return scores


def gram_cases() -> list[MutationCase]:
    """Return cases with Gram files of exact and of estimated counts."""
    bags, new = (as_bags(small_bags(9, seed)[0]) for seed in (0, 1))
    kernels = {
        "exact": BoxCounting(bins=8),
        "estimated": BoxCounting(bins=8, exact_below=0, epsilon=0.5, delta=0.3),
        "rank": BoxCounting(bins=5, binning="rank", seed=3),
    }

    def use_gram(path: Path) -> list[np.ndarray]:
        """Return the Gram matrices of the training bags, and of new bags with the training bags."""
        clear_count_cache()
        kernel = load_gram(path)
        repr(kernel)
        kernel.count_values_outside_grid(new)
        return [kernel.log(bags, bags), kernel.log(new, bags)]

    return [
        MutationCase.create(name, lambda path, kernel=kernel: kernel.save(path, bags), use_gram)
        for name, kernel in kernels.items()
    ]


# -- outcomes --------------------------------------------------------------------------------------------------


def is_one_sentence(message: str) -> bool:
    """Return True if an error message is printable, ends like a sentence and has a reasonable length."""
    return message.isprintable() and message.endswith((".", "?", ")")) and 20 < len(message) < 900


def load_outcome(case: MutationCase, path: Path) -> str:
    """Load and use a file, and return "refused", "equal", or a failure, which begins with a capital letter."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = case.use(path)
    except MiloptError as error:
        return "refused" if is_one_sentence(str(error)) else f"NO SENTENCE: {error}"
    except Exception:
        return "TRACEBACK: " + traceback.format_exc()
    for result, expected in zip(results, case.expected, strict=True):
        bound = TOLERANCE * (1 + np.abs(expected).max())
        if result.shape != expected.shape or not (np.abs(result - expected) <= bound).all():
            difference = np.abs(result - expected).max() if result.shape == expected.shape else result.shape
            return f"OTHER: differs by {difference}"
    return "equal"


def run(
    cases: list[MutationCase], count: int, seed: int, path: Path, digest: bool = False
) -> Iterator[tuple[int, str, str, str, float, int]]:
    """Load mutated files and yield number, case, mutation, outcome, seconds, and growth of the peak memory in bytes."""
    for number in range(count):
        # Each file has a separate seed, so that it can be reproduced alone.
        draw = random.Random(f"{seed} {number}")
        case = cases[number % len(cases)]
        mutation, content = mutate(draw, case.content, digest)
        path.write_bytes(content)
        start, before = process_time(), peak_memory()
        outcome = load_outcome(case, path)
        yield number, case.name, mutation, outcome, process_time() - start, peak_memory() - before


def peak_memory() -> int:
    """Return the peak memory of the process in bytes; 0 on Windows."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


CASES = {"model": model_cases, "gram": gram_cases}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=CASES)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="failures to show in full")
    parser.add_argument("--digest", action="store_true", help="update the digest in the header of a Gram file")
    arguments = parser.parse_args()
    allowed = {"refused", "equal", *(["OTHER"] if arguments.digest else [])}
    table: Counter[tuple[str, str]] = Counter()
    failures, slowest, largest = 0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated"
        for number, name, mutation, outcome, seconds, memory in run(
            CASES[arguments.kind](), arguments.count, arguments.seed, path, arguments.digest
        ):
            faulthandler.dump_traceback_later(60, exit=True)
            kind = outcome.partition(":")[0]
            if seconds > MAX_SECONDS or memory > MAX_BYTES:
                kind = "TOO MUCH"
            table[name, kind] += 1
            slowest, largest = max(slowest, seconds), max(largest, memory)
            if kind not in allowed:
                failures += 1
                if failures <= arguments.show:
                    sys.stdout.write(f"{number}, {name}: {mutation}\n{outcome}\n{seconds:.1f} s, {memory >> 20} MB\n\n")
    faulthandler.cancel_dump_traceback_later()
    for (name, kind), count in sorted(table.items()):
        sys.stdout.write(f"{name:20} {kind:12} {count}\n")
    sys.stdout.write(f"slowest {slowest:.2f} s, largest growth {largest >> 20} MB, failures {failures}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
