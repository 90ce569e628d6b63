"""Compile LaTeX documents with pdflatex."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

PROGRAM = shutil.which("pdflatex")
MISSING = "" if PROGRAM else "needs the program pdflatex (Debian: texlive-latex-recommended)"
"""Reason why nothing can be compiled; empty if the program is there."""
OVERFULL = re.compile(r"^Overfull \\hbox \(([\d.]+)pt too wide\)(.*)$", re.MULTILINE)


def compile_latex(body: str, folder: Path, preamble: str) -> list[str]:
    """Compile a document, and return the lines of its log about text that is wider than the page."""
    document = f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (folder / "document.tex").write_text(document, encoding="utf-8")
    done = subprocess.run(
        [str(PROGRAM), "-interaction=nonstopmode", "-halt-on-error", "document.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return [match.group() for match in OVERFULL.finditer(done.stdout)]
