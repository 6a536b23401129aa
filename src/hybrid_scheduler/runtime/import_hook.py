"""What is done when joblib is imported: our backend is registered there, whoever comes first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

JOBLIB, BACKEND = "joblib", "hybrid_scheduler.runtime.joblib_backend"


def register_with_joblib() -> None:
    """Register our backend with joblib, now or when that is imported: importing it here would take half a second."""
    if JOBLIB in sys.modules:
        import_module(BACKEND)
    elif not any(isinstance(each, _JoblibFinder) for each in sys.meta_path):
        sys.meta_path.insert(0, _JoblibFinder())


class _JoblibFinder(MetaPathFinder):
    """Finds joblib once, as the others would, and has its loader register our backend at the end."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where joblib is; None for any other module."""
        if fullname != JOBLIB:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_register(module: ModuleType) -> None:
            load(module)
            import_module(BACKEND)

        spec.loader.exec_module = load_and_register  # type: ignore[method-assign]  # of this loader, of one module
        return spec
