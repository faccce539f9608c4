"""What the command line takes, and what it says to what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_servers import FakeServers
from serving.arguments import Arguments, parse
from serving.rows import ROW_NAMES


def test_all_rows_five_times_are_the_default(fakes: FakeServers, tmp_path: Path) -> None:
    arguments = parse(fakes.arguments(tmp_path / "out"))
    assert (arguments.rows, arguments.repeats, arguments.quick) == (ROW_NAMES, 5, False)
    assert arguments.vocab_size() == 512


def test_quick_is_one_repeat_unless_told_otherwise(fakes: FakeServers, tmp_path: Path) -> None:
    words = [*fakes.arguments(tmp_path / "out"), "--quick"]
    assert parse(words).repeats == 1
    assert parse([*words, "--repeats=3"]).repeats == 3


def test_rows_keep_the_tables_order(fakes: FakeServers, tmp_path: Path) -> None:
    words = [*fakes.arguments(tmp_path / "out"), "--rows", "long, c1"]
    assert parse(words).rows == ("c1", "long")


def test_peers_may_be_left_out(fakes: FakeServers, tmp_path: Path) -> None:
    words = [word for word in fakes.arguments(tmp_path / "out") if "--peers" not in word]
    assert parse(words).peers is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--affine_server=/none"], "--affine_server is /none, which is no program; build"),
        (["--affine_server=/"], "--affine_server is /, which is no program"),
        (["--model=/none"], "--model is /none, which holds no config.json; make"),
        (["--peers=/none"], "--peers is /none, which is no folder; see tests/bench/README.md"),
        (["--out=/dev/null"], "--out is /dev/null, which is no folder"),
        (["--rows=c1,c9"], "--rows: 'c9' is no row; there are c1, c8, c32"),
        (["--rows="], "--rows: '' is no row"),
        (["--repeats=0"], "--repeats: 0 is not in [1, 100]"),
        (["--repeats=x"], "--repeats: x is not in [1, 100]"),
        (["--repeat5"], "unrecognized arguments: --repeat5"),
    ],
)
def test_wrong_arguments_are_named_with_what_is_allowed(
    fakes: FakeServers,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    with pytest.raises(SystemExit) as exit:
        parse([*fakes.arguments(tmp_path / "out"), *words])
    assert exit.value.code == 2
    assert said in capsys.readouterr().err


def test_help_names_every_argument(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        parse(["--help"])
    assert exit.value.code == 0
    out = capsys.readouterr().out
    assert all(f"--{name}" in out for name in Arguments.__dataclass_fields__)


def test_the_readme_names_every_argument_and_every_row() -> None:
    text = (Path(__file__).parent / "README.md").read_text()
    assert all(f"`--{name}" in text for name in Arguments.__dataclass_fields__)
    rows = "".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    assert all(f"`{name}`" in rows for name in ROW_NAMES)
