"""Codelets: whose measured times the kernels of a tiled factorisation take, and what is assumed where none was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A kernel of a factorisation: which codelet's times it takes, how many times them, and its work."""

    codelet: str
    operands: int  # tiles that the codelet touches
    cubes: float  # operations in n³
    times: float = 1.0


def _cholesky(letter: str) -> dict[str, Measured]:  # noqa: ARG001  # measured in single precision alone
    return {
        "potrf": Measured("chol_model_potrf", 1, 1 / 3),
        "trsm": Measured("chol_model_trsm", 2, 1.0),
        "syrk": Measured("chol_model_syrk", 2, 1.0),
        "gemm": Measured("chol_model_gemm", 3, 2.0),
    }


def _lu(letter: str) -> dict[str, Measured]:
    prefix = f"starpu_{letter}lu_lu_model_"
    return {
        "getrf": Measured(f"{prefix}getrf", 1, 2 / 3),
        "trsm_ll": Measured(f"{prefix}trsm_ll", 2, 1.0),
        "trsm_ru": Measured(f"{prefix}trsm_ru", 2, 1.0),
        "gemm": Measured(f"{prefix}gemm", 3, 2.0),
    }


def _qr(letter: str) -> dict[str, Measured]:
    """QR was not measured: its kernels are assumed to do as many operations a second as those of LU."""
    panel, update = f"starpu_{letter}lu_lu_model_getrf", f"starpu_{letter}lu_lu_model_gemm"
    return {
        "geqrt": Measured(panel, 1, 4 / 3, times=2.0),
        "tsqrt": Measured(panel, 1, 2.0, times=3.0),
        "ormqr": Measured(update, 3, 2.0, times=1.0),
        "tsmqr": Measured(update, 3, 4.0, times=2.0),
    }


CODELETS = {"cholesky": _cholesky, "lu": _lu, "qr": _qr}
ASSUMED = {
    "cholesky": "SYRK takes half the time of GEMM, as in StarPU's own models",
    "lu": "",
    "qr": "no kernel of QR was measured: GEQRT and TSQRT take 2 and 3 times as long as GETRF of LU, ORMQR and TSMQR "
    "1 and 2 times as long as its GEMM, in proportion to their operations",
}
"""What is not measured about the times of each factorisation."""
