"""The Python blocks of the guide: from the guide itself where it lies beside the checkout, else from `guide.md`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = Path(os.environ.get("HMS_GUIDE") or ROOT.parent / "shared" / "seeds")
needs_guide = pytest.mark.skipif(not GUIDE.is_dir(), reason="no folder with the guide's documents (set HMS_GUIDE)")
COPY = Path(__file__).with_name("guide.md")
FENCE = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^pip .*$", flags=re.MULTILINE)


def documents() -> list[str]:
    """Return the text of every document of the guide."""
    return [path.read_text(encoding="utf-8") for path in sorted(GUIDE.glob("*.txt"))]


def python_blocks(text: str) -> list[str]:
    """Return the Python blocks of a document, without the lines for a shell that one of them holds."""
    return [SHELL.sub("", code) for code in FENCE.findall(text)]


def copied_blocks() -> dict[str, str]:
    """Return the blocks of `guide.md` by the headings they stand under."""
    text = COPY.read_text(encoding="utf-8")
    return dict(zip(re.findall(r"^## (.*)$", text, flags=re.MULTILINE), python_blocks(text), strict=True))


def blocks() -> dict[str, str]:
    """Return the blocks to run, by their headings in `guide.md`."""
    copied = copied_blocks()
    written = [code for text in documents() for code in python_blocks(text)]
    return dict(zip(copied, written, strict=True)) if written else copied
