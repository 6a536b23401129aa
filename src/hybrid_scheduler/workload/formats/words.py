"""Columns of words as numbers: the different words by alphabet, and which of them stands in each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_scheduler.model.tasks import Ints
from hybrid_scheduler.workload.formats.sieve import Mask


@dataclass(frozen=True)
class Words:
    """A column of words: the different ones, sorted, and for each row its place among them."""

    names: list[str]
    codes: Ints

    def where(self, test: Callable[[str], bool]) -> Mask:
        """Return in which rows a word passes a test, which is asked once for every different word."""
        return np.array([test(name) for name in self.names], np.bool_)[self.codes]

    def taken(self, rows: Ints) -> Words:
        """Return the words of some rows."""
        return Words(self.names, self.codes[rows])


def words_of(column: Any, strip: bool = False) -> Words:
    """Turn a column of text into words, without the blanks around them if they are to be stripped."""
    import pyarrow as pa

    text = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([pa.array(column, pa.string())])
    found = text.combine_chunks().dictionary_encode()
    words = [word.strip() if strip else word for word in found.dictionary.to_pylist()]
    names = sorted(set(words))
    place = {name: code for code, name in enumerate(names)}
    return Words(names, np.array([place[word] for word in words], np.int64)[found.indices.to_numpy()])
