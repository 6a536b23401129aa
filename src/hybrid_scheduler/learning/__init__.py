"""What the learners share: features, labels, predictors, model files, training."""

import threading

LOADING = threading.RLock()
"""Held while torch or scikit-learn is imported: SciPy, which scikit-learn loads, fails on a half-loaded torch."""
