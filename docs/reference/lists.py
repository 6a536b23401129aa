"""Pages that are lists of what there is: settings, schedulers, workloads, formats, measures, figures."""

from __future__ import annotations

from docs import tables
from docs.reference.markdown import code, join, table
from hybrid_scheduler import registry
from hybrid_scheduler.settings import settings_table
from hybrid_scheduler.workloads.formats.reader import Format, load_formats


def settings() -> str:
    """Return the page of the service's settings."""
    said = (
        "Of `hms serve`, from the environment, `.env`, then `config.yaml`; options of the command go before all. "
        "`ENVIRONMENT=production` refuses what is not safe ([security](../security.md)). Options of the pipeline "
        "stand below the key `pipeline` of `config.yaml` ([pipeline](../pipeline.md))."
    )
    return join("# Settings", said, settings_table().strip())


def schedulers() -> str:
    """Return the page of policies with their options."""
    said = (
        "`-s name:option=value` sets an option, `hms schedulers NAME` prints the same. How they decide and how to "
        "write one's own: [policies](../policies.md), [learners](../learners.md)."
    )
    parts = [_scheduler(each) for each in registry.schedulers.entries]
    return join("# Schedulers", said, tables.schedulers(), *parts)


def _scheduler(entry: registry.Entry) -> str:
    rows = [
        (code(each.name), each.kind, code(each.default) if each.default != "" else "", each.help)
        for each in registry.schedulers.options(entry.name)
    ]
    return join(f"## {entry.name}", table(("option", "type", "default", "meaning"), rows) or "No options.")


def workloads() -> str:
    """Return the page of presets."""
    said = "Names that may stand wherever a file of tasks may; drawn from a seed ([model](../model.md#workloads))."
    return join("# Workloads", said, tables.presets())


def formats() -> str:
    """Return the page of file formats with their mappings."""
    said = (
        "What a file is, is told by its unpacked content, never by its name ([file formats](../formats.md)). "
        "`measured` was in the file, `assumed` was not, `ignored` is in the file and not used."
    )
    return join("# Formats", said, *map(_format, load_formats()))


def _format(form: Format) -> str:
    rows = [
        (code(each.column) if each.column else "–", each.becomes or "–", each.ground, each.note)
        for each in form.mapping
    ]
    companions = f"Takes further files: {form.companions}." if form.companions else ""
    mapping = table(("in the file", "becomes", "ground", "note"), rows)
    return join(f"## {form.name}", f"{form.summary}.".replace("..", "."), companions, mapping)


def measures() -> str:
    """Return the page of measures."""
    said = "Computed from placements alone; `hms compare --json` and `measures.csv` hold all of them."
    return join("# Measures", said, tables.measures())


def figures() -> str:
    """Return the page of figures."""
    return join("# Figures", "`hms plot DIR --figure NAME` draws them ([reports](../reports.md)).", tables.figures())
