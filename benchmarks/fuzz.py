"""`python -m benchmarks.fuzz --count 100000`: generated inputs for every reader, order and command, in this process.

Prints how many there were, every one that ended in a traceback or took more than ten seconds of this process (others
may keep the machine busy) or two minutes in all, and the slowest; 1 if there was any. The same seed throws the same
inputs.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

import typer.main
from loguru import logger

from hybrid_scheduler.cli.main import COMMANDS, app, run
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.workloads.formats.reader import read_all, read_jobs

ROOT = Path(__file__).parents[1]
LONGEST, STUCK = 10.0, 120.0  # seconds of this process, and of wall time, that any input may take
SHARES = {"readers": 0.6, "orders": 0.37, "commands": 0.03}
TOKENS = (
    *(b"", b"nan", b"inf", b"-inf", b"-1", b"0", b"1e308", b"1e-320", b"1" * 30, b"9" * 400, b"\x00", b"\xff\xfe"),
    *(b"'", b'"', b",", b",,,,", b"\n", b"\r\n", b"[" * 2000, b"{" * 50, b"<!ENTITY", b"x", b"\xc3\x28", b"null"),
    *(b"true", b";"),
)
NUMBERS = (0, -1, 1, 2, 5, 0.5, 1e-320, 1e308, -1e308, 2**31, 2**53, 2**63, 2**70, 10**30, float("nan"), float("inf"))
WORDS = (
    *("", "x", "mixed", "eft", "upload:x", "../x", "a" * 5000, "\u202e", "\x00", "\ud800", "%s", "0", "-1", "null"),
    *("*", "greedy,eft", "eft:x=1", "1:2"),
)
QUICK = (
    *("compare", "generate", "compose", "import", "inspect", "bound", "jobs", "schedulers", "models", "repeat"),
    *("plot", "report", "backup", "prune", "restore"),
)
SMALL = {"--tasks": "20", "--seeds": "1"}  # of a comparison that would run for minutes
LONG = ("train", "capacity", "bench-suite", "sweep", "validate", "experiment")
"""Commands that take minutes if all is well: they get a number of tasks that no one can want."""
JSON = {"content-type": "application/json"}


class Hang(BaseException):
    """An input takes too long."""


@dataclass
class Tally:
    """What became of the inputs."""

    count: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict)

    def note(self, kind: str, what: str, seconds: float, refused: bool) -> None:
        """Count an input."""
        self.count[kind] += 1
        self.refused[kind] += refused
        self.slowest[kind] = max(self.slowest.get(kind, (0.0, "")), (seconds, what))
        if seconds > LONGEST:
            self.failures.append(f"{kind}: {what} took {seconds:.1f} s")

    def fail(self, kind: str, what: str, error: str) -> None:
        """Note an input that ended in a traceback."""
        self.failures.append(f"{kind}: {what}\n{error}")


@contextmanager
def limited() -> Iterator[None]:
    """Raise `Hang` in a block that takes longer than any input may."""

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, STUCK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def attempt(tally: Tally, kind: str, what: str, work: Callable[[], bool]) -> None:
    """Throw one input; `work` returns whether it was accepted."""
    begin = time.process_time()
    accepted = False
    try:
        with limited():
            accepted = work()
    except Hang:
        tally.fail(kind, what, f"no end after {STUCK:g} s")
    except Exception:  # noqa: BLE001  # this is what is looked for
        tally.fail(kind, what, traceback.format_exc())
    tally.note(kind, what, time.process_time() - begin, not accepted)


def mutate(content: bytes, draw: random.Random) -> bytes:
    """Return a file with a few things wrong."""
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        first = draw.randrange(len(content) + 1)
        last = min(len(content), first + draw.choice((0, 1, 1, 5, 50)))
        token = draw.choice(TOKENS) if draw.random() < 0.7 else content[first:last] * draw.choice((0, 2, 50))
        content = content[:first] + token + content[last:]
    return content[: draw.randrange(len(content) + 1)] if draw.random() < 0.1 else content


def fuzz_readers(tally: Tally, count: int, draw: random.Random, folder: Path) -> None:
    """Read garbled files of every format."""
    from workloads.formats.samples import SAMPLES

    samples = {}
    for name, write in SAMPLES.items():
        (folder / name).mkdir()
        samples[name] = [(path, path.read_bytes()) for path in write(folder / name)]
    for number in range(count):
        name = draw.choice(sorted(samples))
        files = samples[name]
        place = draw.randrange(len(files))
        for here, (path, content) in enumerate(files):
            path.write_bytes(mutate(content, draw) if here == place else content)
        read: Callable[..., object] = read_jobs if draw.random() < 0.2 else read_all
        form = name if draw.random() < 0.5 else ""
        paths = [path for path, _ in files]
        attempt(tally, "readers", f"{name} number {number}", partial(_read, read, paths, form))


def _read(read: Callable[..., object], paths: list[Path], form: str) -> bool:
    try:
        read(paths, form)
    except SchedulerError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error}") from error
        return False
    return True


def fuzz_commands(tally: Tally, count: int, draw: random.Random, folder: Path) -> None:
    """Run commands with words that make no sense."""
    (folder / "small.csv").write_text("size,compute_intensity,memory_required\n100,0.5,10\n200,0.1,20\n")
    known = [name for name, _, _ in COMMANDS if name in (*QUICK, *LONG)]
    options = {name: _list_options(name) for name in known}
    with chdir(folder):
        for _ in range(count):
            name = draw.choice(known)
            words = [name, *(_draw_word(draw, folder) for _ in range(draw.choice((0, 1, 1, 2))))]
            for option in draw.sample(options[name], min(len(options[name]), draw.choice((0, 1, 2, 3)))):
                words += [option, _draw_word(draw, folder)]
            words += [
                word for option in SMALL.items() if name == "compare" and option[0] not in words for word in option
            ]
            words += ["--tasks", draw.choice(("-1", "0", "x", "1e30"))] if name in LONG else []
            attempt(tally, "commands", repr(words)[:300], partial(_run, words))


def _list_options(name: str) -> list[str]:
    command: Any = typer.main.get_command(app)
    found = [word for each in command.commands[name].params for word in each.opts if word.startswith("--")]
    return [word for word in found if word not in ("--help", "--url", "--database")] or ["--help"]


def _draw_word(draw: random.Random, folder: Path) -> str:
    choice = draw.random()
    if choice < 0.4:
        return str(draw.choice(NUMBERS))
    if choice < 0.8:
        return draw.choice(WORDS).replace("\x00", "").replace("\ud800", "")
    return str(folder / draw.choice(("small.csv", "missing.csv", ".", "small.csv/x")))


def _run(words: list[str]) -> bool:
    output = io.StringIO()
    try:
        with mock.patch.object(sys, "argv", ["hms", *words]), redirect_stdout(output), redirect_stderr(output):
            run()
    except SystemExit as end:
        if "Traceback" in output.getvalue():
            raise AssertionError(output.getvalue()[-2000:]) from end
        return end.code in (0, None)
    return True


async def fuzz_orders(tally: Tally, count: int, draw: random.Random, folder: Path) -> None:
    """Send orders and questions of every kind, with values of every kind."""
    from served import serving

    async with serving(f"sqlite:///{folder}/hms.db", data_dir=folder, pace=1.0) as service:
        schema = service.app.openapi()
        operations = [
            (method, path, about) for path, methods in schema["paths"].items() for method, about in methods.items()
        ]
        await service.step(20)
        for number in range(count):
            method, path, about = draw.choice(operations)
            url, query, body = _draw_request(draw, schema, path, about)
            what, begin = f"{method.upper()} {path} number {number}: {str(body)[:100]}", time.process_time()
            try:
                async with asyncio.timeout(STUCK):
                    answer = await service.client.request(method, url, params=query, **body)
                if answer.status_code >= 500 and answer.status_code != 503:
                    tally.fail("orders", what, answer.text[:1000])
            except TimeoutError:
                tally.fail("orders", what, f"no end after {STUCK:g} s")
            except Exception:  # noqa: BLE001  # this is what is looked for
                tally.fail("orders", what, traceback.format_exc())
            else:
                tally.note("orders", what, time.process_time() - begin, answer.status_code >= 400)
            if not service.manager.active:
                await service.manager.start({"pace": 1.0})
        if troubles := service.manager.supervisor.troubles():
            tally.fail("orders", "background work", "; ".join(troubles))


def _draw_request(
    draw: random.Random, schema: dict[str, Any], path: str, about: dict[str, Any]
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    url, query = path, {}
    for each in about.get("parameters", ()):
        value = _draw_json(draw, each["schema"], schema)
        if each["in"] == "path":
            url = url.replace("{" + each["name"] + "}", quote(str(value).encode(errors="replace")[:200], "") or "x")
        elif draw.random() < 0.5 or each.get("required"):
            query[each["name"]] = str(value).encode(errors="replace").decode()[:2000]
    content = about.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        wanted = {} if "experiments" in path else content["application/json"]["schema"]  # a good one runs for hours
        body = json.dumps(_draw_json(draw, wanted, schema)).encode(errors="replace")
        return url, query, {"content": body, "headers": JSON}
    if content:
        sample = b"size,compute_intensity,memory_required,arrival_time\n1,0.5,3,0\n2,0.25,3,1\n"
        return url, query, {"content": mutate(sample, draw)}
    return url, query, {}


def _draw_json(draw: random.Random, wanted: dict[str, Any], schema: dict[str, Any]) -> Any:
    """Return a value that fits a schema often, and is far from it at times."""
    if draw.random() < 0.15 or not wanted:
        return draw.choice((*NUMBERS, *WORDS, None, True, [], {}, [[]] * 50, {"a": {}}))
    if "$ref" in wanted:
        return _draw_json(draw, schema["components"]["schemas"][wanted["$ref"].rsplit("/", 1)[1]], schema)
    if "anyOf" in wanted:
        return _draw_json(draw, draw.choice(wanted["anyOf"]), schema)
    if "enum" in wanted:
        return draw.choice(wanted["enum"])
    match wanted.get("type"):
        case "object":
            fields = wanted.get("properties", {})
            chosen = [name for name in fields if name in wanted.get("required", ()) or draw.random() < 0.3]
            return {name: _draw_json(draw, fields[name], schema) for name in chosen}
        case "array":
            return [_draw_json(draw, wanted.get("items", {}), schema) for _ in range(draw.randrange(4))]
        case "integer":
            return draw.choice((0, 1, 2, 3, 7, 30, wanted.get("minimum", 0), *NUMBERS[:4]))
        case "number":
            return draw.choice((0.1, 0.5, 1.0, 3.0, *(wanted.get(name, 1.0) for name in ("minimum", "maximum"))))
        case "boolean":
            return draw.random() < 0.5
        case "null":
            return None
    return draw.choice((*WORDS, *wanted.get("examples", ())))


def main(words: list[str]) -> int:
    """Throw inputs as the options say."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="inputs, 100,000 if absent")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(SHARES), help=f"of {', '.join(SHARES)}")
    given = parser.parse_args(words)
    sys.path.append(str(ROOT / "tests"))  # where the samples of every format are
    logger.remove()
    warnings.simplefilter("error", RuntimeWarning)  # of numpy: a line that no user can act on
    tally, kinds = Tally(), given.kinds.split(",")
    total = sum(SHARES[kind] for kind in kinds)
    with tempfile.TemporaryDirectory() as name:
        for kind in kinds:
            folder, count = Path(name) / kind, round(given.count * SHARES[kind] / total)
            folder.mkdir()
            draw = random.Random(f"{given.seed} {kind}")  # noqa: S311  # no secret
            if kind == "readers":
                fuzz_readers(tally, count, draw, folder)
            elif kind == "commands":
                fuzz_commands(tally, count, draw, folder)
            else:
                asyncio.run(fuzz_orders(tally, count, draw, folder))
    for kind, count in tally.count.items():
        seconds, what = tally.slowest[kind]
        print(f"{count:,} {kind}, {tally.refused[kind]:,} refused; the slowest took {seconds:.2f} s: {what[:120]}")
    for failure in tally.failures[:20]:
        print(failure)
    print(f"{sum(tally.count.values()):,} inputs, {len(tally.failures)} tracebacks or hangs")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
