"""Trained models: those that runs have left, and model files of this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fastapi import APIRouter, Request, Response

from hybrid_scheduler.core.compiling import cache_directory
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.model_files import list_models
from hybrid_scheduler.server.answers import cached, manager_of
from hybrid_scheduler.server.schemas.base import errors
from hybrid_scheduler.server.schemas.runs import ModelFile, Models, StoredModel

router = APIRouter(tags=["models"])
OWN = Path("models")  # where `hms models` looks too


@router.get("/api/models", summary="Trained models", response_model=Models, responses=errors())
async def models(request: Request) -> Response:
    """Return models of the database and model files, with what they were trained on.

    Files are looked for in the folder `models` and among the agents that were trained for a cluster once.
    """
    manager = manager_of(request)

    async def build() -> Models:
        files, problems = await asyncio.to_thread(_files, (OWN, cache_directory() / "models"))
        stored = [StoredModel.model_validate(each) for each in await manager.store.models()]
        return Models(stored=stored, files=files, problems=problems)

    return await cached(manager, "models", build)


def _files(folders: tuple[Path, ...]) -> tuple[list[ModelFile], list[str]]:
    """Read the folders; a torn manifest in one must not hide the models of the others."""
    found, problems = [], []
    for folder in folders:
        try:
            found += [ModelFile(folder=str(folder), **each) for each in list_models(folder)]
        except (InputError, OSError) as error:
            problems.append(str(error))
    return found, problems
