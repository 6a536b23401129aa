"""Lanes run in threads, and each learner imports its library when it first learns."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import importlib.abc, importlib.machinery, sys, threading
import numpy as np
from hybrid_scheduler.learning import LOADING
from hybrid_scheduler.learning.trees import fit_extra_trees

half, errors = threading.Event(), []

class Pause(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if not name.startswith("torch.") or half.is_set():
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        run = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (half.set(), forest.join(5.0), run(module))  # ends at once, or waits
        return spec

def grow():
    half.wait()
    try:
        fit_extra_trees(np.arange(8.0)[:, None], np.arange(8.0), 2, 0)
    except Exception as error:
        errors.append(repr(error))

sys.meta_path.insert(0, Pause())
forest = threading.Thread(target=grow)
forest.start()
with LOADING:
    import hybrid_scheduler.learning.q_network
forest.join()
print(errors)
"""


def test_scikit_learn_is_not_imported_while_torch_is_half_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
