"""`affine report`: what it sends, the page, the numbers, and how it fails."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from affine_client._proto import completion_pb2 as pb
from affine_client.cli import report as command
from command_line import CommandLine
from fake_service import FakeServer, FakeService
from page_reader import read_page

ANALYSES = ["scores", "weight-sums", "first-token", "utilization", "entropy", "alpha"]
HOSTILE = "<script>alert('$\\frac{$')</script>&amp;\u202e_"  # with a mark that turns text around


@pytest.fixture
def text(tmp_path: Path) -> str:
    file = tmp_path / "article.txt"
    file.write_text("one two three four five six seven")
    return str(file)


def completions(service: FakeService) -> list[pb.CompleteRequest]:
    return [one for one in service.requests if isinstance(one, pb.CompleteRequest)]


def test_the_text_goes_in_prompts_that_make_no_token(
    affine: CommandLine, service: FakeService, text: str, tmp_path: Path
) -> None:
    numbers = tmp_path / "n.json"
    assert affine("report", text, "--tokens", "3", "--json", str(numbers)) == 0
    sent = completions(service)
    assert [list(one.token_ids.ids) for one in sent] == [[0, 1, 2], [3, 4, 5], [6]]
    for one in sent:
        assert one.HasField("max_tokens") and one.max_tokens == 0
        assert one.stability and one.stability_heads
    assert affine.out == f"{numbers}: the numbers\n"
    assert affine.err == "[fake: 3 requests, 7 tokens, 7 positions measured]\n"


def test_the_numbers_add_up_by_hand(affine: CommandLine, text: str, tmp_path: Path) -> None:
    file = tmp_path / "n.json"
    affine("report", text, "--tokens", "4", "--json", str(file))
    result = json.loads(file.read_text())
    (one,) = result["models"]
    assert result["text_file"] == "article.txt" and result["difference"] is None
    assert (one["requests"], one["tokens"], one["positions"], one["queries"]) == (2, 7, 7, 42)
    assert one["model"]["name"] == "fake" and one["whole_text"] is True
    # Prompts of 4 and 3 tokens shift every mean by 0.4 and 0.3.
    shift = (4 * 0.4 + 3 * 0.3) / 7
    assert one["heads"]["entropy"][1][2] == pytest.approx(3.2 + shift)
    assert one["heads"]["largest_score"][1][2] == pytest.approx(11.2 + 0.4)
    assert one["by_layer"][0]["entropy"] == pytest.approx(2.1 + shift)
    assert one["overall"]["utilization"] == pytest.approx(1 - (0.16 + shift / 10))
    assert one["worst_heads"]["entropy"]["layer"] == 0
    assert one["weight_sum_shares"][11] == 1.0


def test_the_page_is_whole_and_has_each_analysis_once(
    affine: CommandLine, text: str, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    assert affine("report", text, "--out", str(file)) == 0
    page = read_page(file)
    assert page.pictures == ANALYSES
    assert page.drawn == ANALYSES
    assert page.mistakes == []
    assert page.outside == []
    assert "script" not in page.tags and page.headings[0] == "Attention of fake"
    cells = dict(page.rows)
    assert cells["text file"] == ["article.txt"] and cells["server version"] == ["0.1.0"]
    assert cells["precision"] == ["bfloat16"] and cells["device"] == ["cpu"]
    assert cells["queries"] == ["42 over all layers and heads"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", cells["date"][0])
    assert "1 − first-token mass" in file.read_text()


def test_every_picture_is_told_in_words(affine: CommandLine, text: str, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    affine("report", text, "--out", str(file))
    words = read_page(file).descriptions
    assert list(words) == ANALYSES
    assert "highest 3.8 at layer 1" in words["entropy"]  # 2 + 1 + 0.1 + 7 tokens' shift
    assert "100.0% of the sums are near 1.0" in words["weight-sums"]
    assert "at layer 1, head 2" in words["utilization"]


def test_two_models_share_axes_and_their_difference_is_shown(
    affine: CommandLine, service: FakeService, text: str, tmp_path: Path
) -> None:
    file, numbers = tmp_path / "page.html", tmp_path / "n.json"
    models = ("--model", "plain", "--compare", "fake")
    assert affine("report", text, *models, "--out", str(file), "--json", str(numbers)) == 0
    assert [one.model for one in completions(service)] == ["plain", "fake"]
    page = read_page(file)
    assert page.pictures == page.drawn == ANALYSES and page.mistakes == []
    rows = dict(page.rows)
    assert rows["model"] == ["plain", "fake"]
    assert rows["entropy (nats)"] == ["3.3000", "3.3000", "+0.0000"]
    assert rows["α"] == ["–", "0.6300", "–"]
    for key in ("scores", "entropy", "utilization", "weight-sums"):
        assert "A: plain" in page.descriptions[key] and "B: fake" in page.descriptions[key]
    assert "plain" not in page.descriptions["alpha"]  # it has none, as the words beside it say
    difference = json.loads(numbers.read_text())["difference"]
    assert difference["entropy"] == 0.0 and difference["alpha"] is None


def test_the_second_model_may_be_served_elsewhere_and_never_gets_the_first_ones_key(
    affine: CommandLine, service: FakeService, text: str, tmp_path: Path
) -> None:
    other = FakeServer()
    other.service.max_model_len = 5
    try:
        keys = ("--api-key", "first", "--compare-server", other.address)
        assert affine("report", text, *keys, "--json", str(tmp_path / "n.json")) == 0
        for one in (service, other.service):  # the shorter model's length holds for both
            assert [len(sent.token_ids.ids) for sent in completions(one)] == [5, 2]
        assert all("authorization" not in sent for sent in other.service.metadata)
        assert service.metadata[0]["authorization"] == "Bearer first"
        affine("report", text, *keys, "--compare-api-key", "k", "--json", str(tmp_path / "n.json"))
        assert other.service.metadata[-1]["authorization"] == "Bearer k"
    finally:
        other.stop()


def test_a_model_without_affine_scaling_has_words_in_place_of_alpha(
    affine: CommandLine, text: str, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    assert affine("report", text, "--model", "plain", "--out", str(file)) == 0
    page = read_page(file)
    assert page.pictures == ANALYSES and page.drawn == ANALYSES[:-1]
    assert "without affine scaling α is 1" in file.read_text()


def test_a_hostile_model_name_stays_text(
    affine: CommandLine, service: FakeService, text: str, tmp_path: Path
) -> None:
    service.served[HOSTILE] = True
    file = tmp_path / "page.html"
    assert affine("report", text, "--compare", HOSTILE, "--out", str(file)) == 0
    page = read_page(file)
    assert page.mistakes == [] and "script" not in page.tags
    shown = HOSTILE.replace("\u202e", "\ufffd")
    assert dict(page.rows)["model"] == ["fake", shown]
    assert f"B: {shown}" in page.descriptions["scores"]
    assert "\u202e" not in file.read_text()


def test_the_bar_is_drawn_on_a_terminal(
    affine_on_terminal: CommandLine, text: str, tmp_path: Path
) -> None:
    affine_on_terminal("report", text, "--tokens", "2", "--json", str(tmp_path / "n.json"))
    assert "4/4 requests, fake\n" in affine_on_terminal.err


def test_what_was_left_out_or_ended_early_is_said(
    affine: CommandLine, service: FakeService, text: str, tmp_path: Path
) -> None:
    service.finish_reason = pb.FINISH_REASON_UNSTABLE
    limits = ("--tokens", "2", "--requests", "2")
    affine("report", text, *limits, "--out", str(tmp_path / "page.html"))
    assert "2 ended as unstable; the text's rest was left out, see --requests" in affine.err
    rows = dict(read_page(tmp_path / "page.html").rows)
    assert rows["ended as unstable"] == ["2 requests"]
    assert rows["text used"] == ["its beginning, as --requests says"]


Break = Callable[[FakeService], None]


def ages(service: FakeService) -> None:
    service.knows_stability = False


def nothing(service: FakeService) -> None:
    pass


@pytest.mark.parametrize(
    ("happens", "arguments", "named"),
    [
        (nothing, ("--model", "other"), "served is fake, plain"),
        (nothing, ("--compare", "other"), "served is fake, plain"),
        (nothing, ("--tokens", "9999"), "--tokens is 9999; fake takes at most 2048"),
        (nothing, ("--out", "absent/page.html"), "there is no folder absent"),
        (nothing, ("--json", "."), "is a folder"),
        (nothing, ("--compare-server", "nowhere"), "--compare-server: address 'nowhere'"),
        (ages, (), "deploy/serve.sh"),
    ],
)
def test_failures_are_one_line_with_the_remedy(
    affine: CommandLine,
    service: FakeService,
    text: str,
    happens: Break,
    arguments: tuple[str, ...],
    named: str,
) -> None:
    happens(service)
    assert affine("report", text, *arguments) == 1
    assert named in affine.err and len(affine.err.splitlines()) == 1


def test_no_request_is_made_for_a_file_that_is_no_text(
    affine: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    assert affine("report", str(tmp_path / "absent.txt")) == 1
    assert "no such file" in affine.err and service.requests == []


def test_a_second_server_that_is_away_is_named(
    affine: CommandLine, text: str, closed_address: str
) -> None:
    assert affine("report", text, "--compare-server", closed_address) == 69
    assert affine.err.startswith(f"affine: error: {closed_address}:")


def test_without_matplotlib_the_remedy_is_named_before_any_request(
    affine: CommandLine,
    service: FakeService,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert affine("report", text) == 1
    assert "affine-client[report]" in affine.err and service.requests == []
    assert affine("report", text, "--json", str(tmp_path / "n.json")) == 0


def test_other_commands_do_not_load_matplotlib() -> None:
    code = "import sys, affine_client.cli.main; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n"


def test_help_names_every_flag(affine: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {
        "report": "--out --json --model --compare --compare-server --compare-api-key --tokens "
        "--requests --address --server --api-key",
        "attention": "--model --json --address",
        "complete": "--stability --stability-heads",
    }
    for name, named in flags.items():
        with pytest.raises(SystemExit) as caught:
            affine(name, "--help")
        assert caught.value.code == 0
        shown = capsys.readouterr().out
        assert all(flag in shown for flag in named.split())
        assert f"affine {name}" in shown
