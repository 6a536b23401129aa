"""YAML that strangers may have written: plain data only, within limits."""

from __future__ import annotations

from typing import Any

import yaml

MAX_YAML = 10_000_000  # characters
MAX_MERGED = 1000  # keys of one mapping with those that it merges


class _BoundedLoader(yaml.SafeLoader):
    """Refuses what a few lines can blow up to gigabytes: mappings that merge mappings, ten at a time."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        if len(node.value) > MAX_MERGED:
            raise yaml.YAMLError(f"a mapping merges more than {MAX_MERGED} keys")


def parse_yaml(text: str) -> Any:
    """Return the plain data of a YAML text; `YAMLError` if it is none, too long, or merges without measure."""
    if len(text) > MAX_YAML:
        raise yaml.YAMLError(f"it has more than {MAX_YAML} characters")
    return yaml.load(text, _BoundedLoader)  # noqa: S506  # derived from the safe loader
