"""A report says who won, how clearly and how to repeat it; the same run gives the same bytes; nothing is replaced."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pypdfium2  # type: ignore[import-untyped]  # ships no types
import pytest

from helpers_cli import files_in, hms, refused
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.core.metrics import Interval, sign_test
from hybrid_scheduler.files import new_directory
from hybrid_scheduler.reports.document import Document, Table
from hybrid_scheduler.reports.html import to_html
from hybrid_scheduler.reports.material import replay
from hybrid_scheduler.reports.numbers import percent, with_interval
from hybrid_scheduler.reports.pdf import quoted, to_pdf, to_typst
from hybrid_scheduler.reports.reporting import document_of
from hybrid_scheduler.reports.style import label
from hybrid_scheduler.reports.text import summary
from hybrid_scheduler.studies import results
from hybrid_scheduler.studies.results import load_result, measures_table
from reports.kept import SHAPES, SPECS, result, run_material, study_material

RACE = ("compare", "mixed", "-n", "80", "-s", "eft,random,round_robin", "--seeds", "3")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "run"
    assert hms(*RACE, "--out", str(folder)).code == 0
    return folder


@pytest.fixture
def run(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "run"))


@cache
def document(mode: str = "queued") -> Document:
    return document_of(run_material(mode))


def pages(content: bytes) -> list[str]:
    found = pypdfium2.PdfDocument(content)
    texts = [found[number].get_textpage().get_text_bounded() for number in range(len(found))]
    found.close()
    return texts


class Tags(HTMLParser):
    """Counts tags and checks that each is closed."""

    EMPTY = ("meta", "img", "br")

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


# --- what it says --------------------------------------------------------------------------------------------


def test_the_summary_names_the_winner_its_interval_and_the_bound() -> None:
    text = " ".join(summary(result()))
    best = result().ranking(result().score)[0]
    each = result().interval(best, "makespan_over_bound")
    assert f"**{label(best)} came first of 5 policies**: {each.mean:.3f} × the certified bound" in text
    assert f"95 % interval {each.low:.3f} to {each.high:.3f}, 3 seeds" in text
    assert f"at most {percent(each.mean - 1)} later than the best there is" in text


def test_the_summary_says_whether_the_lead_is_clear() -> None:
    text = " ".join(summary(result()))
    best, second = result().ranking(result().score)[:2]
    clear = result().difference(best, second, result().score).excludes_zero()
    assert ("a **clear difference**" in text) is clear
    assert ("**cannot be told apart**" in text) is not clear
    alone = " ".join(summary(result(seeds=1, specs=("eft", "greedy"))))
    assert "one seed says nothing about chance" in alone
    assert "interval" in alone


def test_every_scheduler_interval_and_the_command_are_in_the_report() -> None:
    page = to_html(document())
    for spec in SPECS:
        assert label(spec) in page
        each = result().interval(spec, "makespan_over_bound")
        assert with_interval(each, "×") in page
    assert "hms compare mixed -n 120\nhms repeat RUN" in page
    assert "Threats to validity" in page
    assert "kept ones to the last bit" in page


@pytest.mark.parametrize("mode", ["queued", "isolated"])
def test_html_is_one_file_without_scripts(mode: str) -> None:
    page = to_html(document(mode))
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "link" not in tags.seen
    assert tags.seen.count("img") >= 8
    assert all(source.startswith("data:image/svg+xml;base64,") for source in re.findall(r'src="([^"]{0,40})', page))
    assert not re.search(r"https?://", page)
    assert "prefers-color-scheme: dark" in page


def test_the_pdf_holds_the_headline_every_policy_and_no_empty_page() -> None:
    texts = pages(to_pdf(document()))
    assert "mixed: 5 policies compared" in texts[0]
    assert "came first of 5 policies" in texts[0]
    assert 4 <= len(texts) <= 9
    for spec in SPECS:
        assert label(spec) in texts[0]
    assert all(len(text) > 150 for text in texts)
    assert "hms repeat RUN" in "".join(texts)


@pytest.mark.parametrize("name", SHAPES)
def test_an_experiment_has_a_report(name: str) -> None:
    made = document_of(study_material(name))
    texts = pages(to_pdf(made))
    assert f"Experiment: {name}" in texts[0]
    assert "hybrid_ml" in texts[0]
    assert f"hms experiment {name}" in "".join(texts)
    assert all(name in to_html(made) for name in ("hybrid_ml", "eft", "static forest"))


def test_one_scheduler_on_one_seed_has_a_report() -> None:
    texts = pages(to_pdf(document_of(run_material(seeds=1, specs=("eft",)))))
    assert "eft ran alone" in texts[0]
    assert "One seed: no interval" in "".join(texts)


def test_text_is_never_read_as_markup() -> None:
    assert quoted('a "b" \\ #c') == '"a \\"b\\" \\\\ #c"'
    strange = Table("#let x = <b>", ("a",), (("$x$ `#sys` <script>",),))
    odd = Document("odd", "", (strange,))
    assert "<script>" not in to_html(odd)
    assert "#let x = <b>" in pages(to_pdf(odd))[0]
    assert 'raw("#sys")' in to_typst(odd)


# --- the same again ------------------------------------------------------------------------------------------


def test_the_same_run_gives_the_same_bytes(run: Path) -> None:
    for name in ("one", "other"):
        assert hms("report", "run", "-o", name).code == 0
    assert hms("repeat", "run").code == 0
    for kind in ("html", "pdf"):
        assert Path(f"one.{kind}").read_bytes() == Path(f"other.{kind}").read_bytes()


def test_a_run_is_read_back_to_the_last_bit(kept: Path) -> None:
    again = load_result(kept)
    assert measures_table(again) == (kept / "measures.csv").read_text(encoding="utf-8")
    assert again.outcomes[0].bound.prices.keys() == {"cpu", "gpu"}


def test_a_replay_is_the_kept_seed() -> None:
    one = replay(result())
    assert one.whole
    assert one.same
    assert one.placements["eft"].makespan == result().outcomes[0].measures["eft"]["makespan"]


# --- files ---------------------------------------------------------------------------------------------------


def test_a_report_lies_in_its_run_unless_told_otherwise(tmp_path: Path) -> None:
    with new_directory(tmp_path / "kept") as folder:
        results.write(
            study_material("shift").study, folder, Cluster.default(), range(3), ["hms", "experiment", "shift"]
        )
    assert hms("report", "kept").out == "wrote kept/report.html\nwrote kept/report.pdf\n"
    assert hms("report", "kept", "-o", "mine.pdf").out == "wrote mine.pdf\n"
    assert hms("report", "kept", "-o", "page", "--format", "html").out == "wrote page.html\n"
    assert hms("report", "kept", "-o", "a.html", "--format", "both").out == "wrote a.html\nwrote a.pdf\n"
    Path("folder").mkdir()
    assert hms("report", "kept", "-o", "folder", "--format", "html").out == "wrote folder/report.html\n"


@pytest.mark.parametrize("kind", ["html", "pdf"])
def test_an_existing_report_is_never_replaced(kind: str, run: Path) -> None:
    Path(f"r.{kind}").write_text("precious", encoding="utf-8")
    before = files_in(Path())
    refused(hms("report", "run", "-o", "r"), f"r.{kind} exists", "choose another path")
    assert files_in(Path()) == before


def test_an_unwritable_place_is_refused_and_nothing_is_left(run: Path) -> None:
    Path("file").write_text("x", encoding="utf-8")
    before = files_in(Path())
    refused(hms("report", "run", "-o", "file/r.html"), "cannot write", "choose another path")
    refused(hms("plot", "run", "-f", "makespan", "-o", "file/m.png"), "cannot write", "choose another path")
    assert files_in(Path()) == before


BAD: dict[str, tuple[str, Callable[[str], str], str]] = {
    "a torn manifest": ("manifest.json", lambda text: text[:200], "torn"),
    "a torn result": ("result.json", lambda text: text[:200], "result.json is torn"),
    "a result of something else": ("result.json", lambda _: "{}", "result.json is torn"),
    "torn measures": ("measures.csv", lambda text: text[:-20], "SHA-256 differs"),
    "a newer schema": ("manifest.json", lambda text: text.replace('"schema": 1', '"schema": 7'), "newer version"),
}


@pytest.mark.parametrize("words", ["report run", "plot run -f makespan"])
@pytest.mark.parametrize("case", BAD)
def test_a_spoilt_run_is_refused_in_one_line(case: str, words: str, run: Path) -> None:
    name, spoil, says = BAD[case]
    path = run / name
    path.write_text(spoil(path.read_text(encoding="utf-8")), encoding="utf-8")
    before = files_in(Path())
    refused(hms(*words.split(" ")), says)
    assert files_in(Path()) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("report nowhere", "no run directory"),
        ("report run --format doc", "unknown format 'doc'"),
        ("report run -o r.pdf --format html", "let them say the same"),
        ("plot", "no run to draw"),
        ("plot run -f makspan", "did you mean 'makespan'?"),
        ("plot run -f capacity", "needs a run of hms capacity"),
        ("plot run --format jpeg", "unknown format 'jpeg'"),
        ("plot run -o all.png", "give a folder"),
        ("plot run -f makespan -o x.png --format svg", "let them say the same"),
        ("plot run -f makespan -o x.xyz", "xyz"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: str, says: str, run: Path) -> None:
    before = files_in(Path())
    refused(hms(*words.split(" ")), says)
    assert files_in(Path()) == before


def test_figures_are_listed_and_drawn_by_name(run: Path) -> None:
    listed = hms("plot", "--list")
    assert "latency_cdf" in listed.out
    assert "one seed is run again" in listed.out
    assert max(map(len, listed.out.splitlines())) <= 80
    assert hms("plot", "run", "-f", "makespan").out == "wrote run/figures/makespan.png\n"
    assert hms("plot", "run", "-f", "gantt", "-o", "g.svg").code == 0
    refused(hms("plot", "run", "-f", "makespan"), "run/figures/makespan.png exists")


def test_experiments_and_capacities_are_kept_and_reported(tmp_path: Path) -> None:
    assert hms("capacity", "-s", "eft,greedy", "-n", "400", "--seeds", "2", "-o", "cap").code == 0
    assert set(files_in(tmp_path / "cap")) == {"capacity.csv", "manifest.json"}
    assert hms("report", "cap").code == 0
    assert hms("plot", "cap", "-f", "capacity", "-o", "c.png").code == 0
    refused(hms("repeat", "cap"), "holds an experiment")
    manifest = json.loads(Path("cap/manifest.json").read_text(encoding="utf-8"))
    assert manifest["command"][:2] == ["hms", "capacity"]
    with Path("cap/capacity.csv").open("a", encoding="utf-8") as file:
        file.write("eft,mixed,9,1.0,1.0\n")
    refused(hms("plot", "cap", "-f", "capacity", "-o", "d.png"), "capacity.csv", "SHA-256 differs")
    refused(hms("capacity", "-s", "eft", "-o", "cap"), "not empty")


def test_a_run_without_gpus_or_with_few_tasks_has_no_forest(tmp_path: Path) -> None:
    few = "size,compute_intensity,memory_required\n" + "100,0.5,10\n" * 3
    (tmp_path / "few.csv").write_text(few, encoding="utf-8")
    assert hms("compare", "few.csv", "-s", "eft,hybrid_ml", "--seeds", "1", "-o", "few").code == 0
    assert (
        hms("compare", "mixed", "-n", "50", "--gpus", "0", "-s", "eft,hybrid_ml", "--seeds", "1", "-o", "cpu").code
        == 0
    )
    for run in ("few", "cpu"):
        assert hms("report", run, "--format", "html").code == 0
        assert "Threats" in Path(run, "report.html").read_text(encoding="utf-8")
        refused(hms("plot", run, "-f", "model_accuracy"), "with GPUs and 40 tasks")


def test_a_run_in_which_nothing_ran_is_refused(tmp_path: Path) -> None:
    (tmp_path / "big.csv").write_text("size,compute_intensity,memory_required\n100,0.5,10\n", encoding="utf-8")
    tiny = "nodes: [{cpu: 1, gpu: 1}]\nclasses: {cpu: {kind: cpu, memory: 5}, gpu: {memory: 5}}\n"
    (tmp_path / "tiny.yaml").write_text(tiny, encoding="utf-8")
    assert hms("compare", "big.csv", "--cluster", "tiny.yaml", "-s", "eft", "--seeds", "1", "-o", "run").code == 0
    refused(hms("report", "run"), "no task ran")


# --- numbers -------------------------------------------------------------------------------------------------


def test_numbers_are_written_for_people() -> None:
    assert percent(0.2301) == "23.0 %"
    assert percent(-0.0016) == "−0.16 %"
    assert percent(-1e-9) == "0.00 %"
    assert percent(2.3) == "230 %"
    assert with_interval(Interval(0.2, 0.19, 0.21), "s") == "200 [190, 210] ms"
    assert with_interval(Interval(1.0, 0.9, 1.1), "s") == "1.00 s [900 ms, 1.10 s]"
    assert with_interval(Interval(1.01, 1.0, 1.02), "×") == "1.010 [1.000, 1.020]"


def test_the_sign_test_is_the_binomial() -> None:
    assert sign_test([1.0] * 10, [2.0] * 10) == pytest.approx(2 / 1024)
    assert sign_test([1.0, 3.0], [2.0, 2.0]) == 1.0
    assert sign_test([1.0], [1.0]) == 1.0
