"""Mutate MPS, LP and CBF files, and check the outcome of reading them.

    python -m tests.fuzz.mutated_programs 2000 --seed 0

Reading a mutated file must raise an error of one sentence, or return any program that can be printed and compiled.
Both must happen within a few seconds.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import process_time

import milopt
from milopt.errors import MiloptError
from tests.fuzz.mutated_files import is_one_sentence

MAX_SECONDS = 5.0
"""Largest time for reading one file and compiling its program."""

MPS = """* all that the format has
NAME small
OBJSENSE
    MAX
ROWS
 N obj
 N spare
 L load
 G need
 E mix
 G wide
COLUMNS
 a obj 1 load 1
 a mix 1 spare 2
 b obj 2.5 load 1
 b need -1.5e0 wide 3
 M1 'MARKER' 'INTORG'
 c obj -1 mix 1
 d obj 0.25 load 2
 M2 'MARKER' 'INTEND'
 e need 1 wide -2
 f obj -3 wide 1
 g obj 0.5 load 1
RHS
 RHS obj -7 load 12
 RHS need -5 mix 3
RANGES
 RNG load 8 mix -2
BOUNDS
 UP BND a 4
 LO BND b -2
 UP BND b 6
 BV BND c
 UI BND d 3
 MI BND e
 UP BND e 9
 FX BND f 1.5
 SC BND g 2
QUADOBJ
 a a -2
 b a -0.5
 b b -1
ENDATA
"""
FIXED = """NAME          FIXED
ROWS
 N  COST
 L  LIM 1
 G  MY ROW
COLUMNS
    X ONE     COST               1.0   LIM 1              1.0
    X ONE     MY ROW             1.0
    Y TWO     COST               2.0   LIM 1              1.0
RHS
    RHS       LIM 1              4.0   MY ROW             1.0
BOUNDS
 UP BND       X ONE            4.0
ENDATA
"""
LP = r"""\ all that the format has
maximize
 obj: 2 a + 3.5 b - c + [ - 2 a ^ 2 - 1 a * b - b ^ 2 ] / 2 + 7
subject to
 load: a + b + 2 d + s <= 12
 -5 <= e - 1.5 b <= 30
 mix: a + c = 2 + d
 wide: 3 b - 2 e
   + f >= -4
bounds
 0 <= a <= 4
 -2 <= b <= 6
 -inf <= e <= 9
 f = 1.5
 s <= 2
 d <= 3
general
 d
binary
 c
semi-continuous
 s
end
"""
CBF = """# all that is read of the format
VER
2

OBJSENSE
MIN

VAR
7 4
F 3
L+ 2
L- 1
F 1

INT
1
4

CON
13 6
L= 1
L+ 2
Q 3
QR 3
EXP 3
L- 1

OBJACOORD
4
0 1.0
1 1.0
3 2.0
6 0.5

OBJBCOORD
1.5

ACOORD
13
0 0 1.0
0 3 -1.0
1 1 1.0
2 6 1.0
3 0 1.0
4 1 1.0
6 0 1.0
7 6 1.0
8 2 1.0
9 6 1.0
10 4 1.0
11 2 1.0
12 5 -1.0

BCOORD
6
1 -0.5
2 1.0
5 0.25
10 1.0
7 0.5
12 -4.0
"""
FILES = {"small.mps": MPS, "fixed.mps": FIXED, "small.lp": LP, "small.cbf": CBF}
WORDS = (
    *(
        "",
        "0",
        "-1",
        "1",
        "2",
        "1e400",
        "-1e30",
        "1e-320",
        "nan",
        "inf",
        "-inf",
        "99999999999",
        "1x",
        "0x10",
        "1_0",
        "½",
    ),
    *("a", "obj", "load", "ENDATA", "ROWS", "COLUMNS", "RHS", "BOUNDS", "QMATRIX", "SOS", "FR", "E", "N", "end", "st"),
    *("<=", ">=", "=", "->", "[", "]", "^", "/", ":", "bounds", "free", "general", "VER", "Q", "EXP", "QR", "PSDVAR"),
    *("\x00", "\x85", "\u2028", "é", "x" * 5000, "'MARKER'", "'INTORG'", "\\", "*", "#"),
)


def mutate(draw: random.Random, text: str) -> bytes:
    """Return a text with random changes of words, lines or bytes."""
    lines = text.split("\n")
    for _ in range(draw.choice([1, 1, 2, 4])):
        at = draw.randrange(len(lines))
        match draw.randrange(7):
            case 0:
                del lines[at]
                lines = lines or [""]
            case 1:
                lines.insert(at, lines[draw.randrange(len(lines))])
            case 2:
                other = draw.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines.insert(at, " ".join(draw.choices(WORDS, k=draw.randrange(1, 6))))
            case 4 | 5:
                words = lines[at].split(" ")
                words[draw.randrange(len(words))] = draw.choice(WORDS)
                lines[at] = " ".join(words)
            case 6:
                words = lines[at].split(" ")
                draw.shuffle(words)
                lines[at] = " ".join(words)
    raw = bytearray("\n".join(lines).encode())
    if draw.random() < 0.15 and raw:
        for _ in range(draw.randrange(1, 5)):
            raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
    if draw.random() < 0.1:
        del raw[draw.randrange(len(raw) + 1) :]
    return bytes(raw)


def read_outcome(path: Path) -> str:
    """Read a file and return "refused", "read", or a failure, which begins with a capital letter."""
    try:
        program = milopt.read_program(path)
    except MiloptError as error:
        return "refused" if is_one_sentence(str(error)) else f"NO SENTENCE: {error}"
    except Exception:
        return "TRACEBACK: " + traceback.format_exc()
    try:
        repr(program)
        program.to_standard_form().column_names()
    except MiloptError as error:
        return "refused" if is_one_sentence(str(error)) else f"NO SENTENCE: {error}"
    except Exception:
        return "TRACEBACK: " + traceback.format_exc()
    return "read"


def run(count: int, seed: int, folder: Path) -> Iterator[tuple[int, str, str, float]]:
    """Read mutated files and yield number, file, outcome and seconds."""
    for number in range(count):
        # Each file has a separate seed, so that it can be reproduced alone.
        draw = random.Random(f"{seed} {number}")
        name = sorted(FILES)[number % len(FILES)]
        path = folder / name
        path.write_bytes(mutate(draw, FILES[name]))
        start = process_time()
        yield number, name, read_outcome(path), process_time() - start


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="failures to show in full")
    arguments = parser.parse_args()
    table: Counter[tuple[str, str]] = Counter()
    failures, slowest = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number, name, outcome, seconds in run(arguments.count, arguments.seed, Path(folder)):
            faulthandler.dump_traceback_later(60, exit=True)
            kind = "TOO MUCH" if seconds > MAX_SECONDS else outcome.partition(":")[0]
            table[name, kind] += 1
            slowest = max(slowest, seconds)
            if kind not in ("refused", "read"):
                failures += 1
                if failures <= arguments.show:
                    sys.stdout.write(f"{number}, {name}\n{outcome}\n{seconds:.1f} s\n\n")
    faulthandler.cancel_dump_traceback_later()
    for (name, kind), number in sorted(table.items()):
        sys.stdout.write(f"{name:12} {kind:12} {number}\n")
    sys.stdout.write(f"slowest {slowest:.2f} s, failures {failures}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
