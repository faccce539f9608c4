"""The command line `affine`: what it prints where, and its exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from command_line import CommandLine
from fake_service import READY_SERVICE, Failure, FakeServer, FakeService
from grpc_health.v1 import health_pb2

MODULE = (sys.executable, "-m", "affine_client.cli.main")


def test_complete_streams_the_text_and_notes_the_usage(affine: CommandLine) -> None:
    assert affine("complete", "one two", "--max-tokens", "3", "--echo") == 0
    assert affine.out == "one two red green blue\n"
    assert affine.err == "[2 prompt tokens (1 cached), 3 output tokens, ended by length]\n"


def test_complete_without_streaming_prints_the_same(affine: CommandLine) -> None:
    affine("complete", "one", "--logprobs", "2")
    streamed = affine.out
    affine("complete", "one", "--logprobs", "2", "--no-stream")
    assert affine.out == streamed
    assert "answer id  token" in streamed


def test_complete_reads_its_prompt_from_stdin(affine: CommandLine, service: FakeService) -> None:
    assert affine("complete", "-", "--stop", "a", "--stop", "b", stdin="piped\n") == 0
    assert (service.requests[0].text, list(service.requests[0].stop)) == ("piped\n", ["a", "b"])


def test_complete_sends_zero_and_leaves_out_what_is_not_given(
    affine: CommandLine, service: FakeService
) -> None:
    affine("complete", "x", "--temperature", "0", "--seed", "0")
    request = service.requests[0]
    assert request.sampling.HasField("temperature") and request.sampling.HasField("seed")
    assert not request.sampling.HasField("top_p") and not request.HasField("max_tokens")


def test_complete_prints_json(affine: CommandLine) -> None:
    affine("complete", "one", "--json", "--max-tokens", "2")
    assert json.loads(affine.out)["token_ids"] == [0, 1]
    affine("complete", "one", "--json", "--stream", "--max-tokens", "2")
    assert [json.loads(line)["text"] for line in affine.out.splitlines()] == [" red", " green"]


def test_complete_prints_several_answers_one_after_another(affine: CommandLine) -> None:
    assert affine("complete", "one", "--n", "2", "--max-tokens", "2") == 0
    assert affine.out == "answer 0:\n red green\n\nanswer 1:\n red green\n"
    assert affine.err.endswith("ended by length, length]\n")
    affine("complete", "one", "--n", "2", "--max-tokens", "2", "--stream")
    assert affine.out == " red green\n\nanswer 1:\n red green\n"


def test_complete_sends_lists_and_biases(affine: CommandLine, service: FakeService) -> None:
    lists = ("--bad-word", "a", "--bad-word", "b", "--allowed-token-id", "7")
    chosen = ("--logprobs", "0", "--logprob-token-id", "9", "--include-stop-str-in-output")
    assert affine("complete", "x", *lists, *chosen, "--logit-bias", "5=-1.5") == 0
    request = service.requests[0]
    assert list(request.sampling.bad_words) == ["a", "b"]
    assert list(request.sampling.allowed_token_ids.ids) == [7]
    assert dict(request.sampling.logit_bias) == {5: -1.5}
    assert list(request.logprob_token_ids) == [9] and request.include_stop_str_in_output


def test_complete_asks_for_a_form(
    affine: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "string"}')
    assert affine("complete", "x", "--choice", "a", "--choice", "b") == 0
    assert affine("complete", "x", "--regex", "a+") == 0
    assert affine("complete", "x", "--json-object") == 0
    assert affine("complete", "x", "--json-schema", str(schema)) == 0
    forms = [request.structured_output for request in service.requests]
    assert list(forms[0].choice.choices) == ["a", "b"]
    assert forms[1].regex == "a+" and forms[2].json_object
    assert forms[3].json_schema == '{"type": "string"}'
    assert affine("complete", "x", "--grammar", str(tmp_path / "none")) == 1
    assert "none: no such file" in affine.err


def test_complete_refuses_a_bias_that_is_none(affine: CommandLine) -> None:
    assert affine("complete", "x", "--logit-bias", "five") == 1
    assert "--logit-bias is 'five'; it must be a token id, = and a number" in affine.err


def test_info_shows_models_and_readiness(affine: CommandLine, server: FakeServer) -> None:
    server.health.set(READY_SERVICE, health_pb2.HealthCheckResponse.NOT_SERVING)
    assert affine("info") == 0
    assert "status   NOT_SERVING" in affine.out
    assert "softmax denominator, affine (linear_clipping, N = visible keys)" in affine.out
    affine("info", "--json")
    assert json.loads(affine.out)["models"][0]["num_layers"] == 30


def test_tokenize_shows_ids_and_pieces(affine: CommandLine) -> None:
    assert affine("tokenize", "a b'c") == 0
    assert affine.out.splitlines() == [
        "position  id  piece",
        "0         0   'a'",
        '1         1   "b\'c"',
    ]
    affine("tokenize", "-", "--json", stdin="a b")
    assert json.loads(affine.out) == {"ids": [0, 1], "pieces": ["a", "b"], "count": 2}


def test_errors_are_one_line_with_the_servers_message(
    affine: CommandLine, service: FakeService
) -> None:
    message = "max_tokens is 9999; the prompt's 3 tokens leave room\nfor 2045"
    service.failures.append(Failure(grpc.StatusCode.INVALID_ARGUMENT, message))
    assert affine("complete", "x") == 1
    assert affine.err == f"affine: error: {' '.join(message.split())}\n"


def test_a_missing_key_names_the_remedy(affine: CommandLine, service: FakeService) -> None:
    service.failures.append(Failure(grpc.StatusCode.UNAUTHENTICATED, "no API key"))
    assert affine("complete", "x") == 1
    assert "AFFINE_API_KEY" in affine.err


@pytest.mark.parametrize("command", [("info",), ("metrics",), ("bench", "--vocab-size", "9")])
def test_an_unreachable_server_is_69_and_names_the_remedy(
    command: tuple[str, ...], closed_address: str
) -> None:
    affine = CommandLine()
    assert affine(*command, "--address", closed_address) == 69
    assert closed_address in affine.err and "--address" in affine.err
    assert len(affine.err.splitlines()) == 1


def test_usage_errors_are_2(affine: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    assert affine("info", "--address", "nowhere") == 2
    for wrong in (["complete", "--no-such"], [], ["bench", "--requests", "0"]):
        with pytest.raises(SystemExit) as caught:
            affine(*wrong)
        assert caught.value.code == 2
    assert "below 1" in capsys.readouterr().err


def test_colours_only_on_a_terminal_without_no_color(
    affine: CommandLine, affine_on_terminal: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    affine("tokenize", "a")
    affine_on_terminal("tokenize", "a")
    assert "\x1b[" not in affine.out + affine.err
    assert "\x1b[1mposition" in affine_on_terminal.out
    monkeypatch.setenv("NO_COLOR", "1")
    affine_on_terminal("tokenize", "a")
    assert "\x1b[" not in affine_on_terminal.out + affine_on_terminal.err


def test_ctrl_c_is_clean_and_cancels_the_request(server: FakeServer) -> None:
    server.service.hold_after_first_chunk = True
    with subprocess.Popen(
        [*MODULE, "complete", "x", "--max-tokens", "5", "--address", server.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(4) == b" red"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"")
    assert server.service.cancelled.wait(timeout=10)


def test_a_reader_that_goes_away_is_no_error(server: FakeServer) -> None:
    with subprocess.Popen(
        [*MODULE, "complete", "x", "--max-tokens", "2000", "--address", server.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(4)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 141


def test_stdin_that_is_not_utf8_is_an_error(server: FakeServer) -> None:
    done = subprocess.run(
        [*MODULE, "tokenize", "-", "--address", server.address],
        input=b"\xff\xfe",
        capture_output=True,
        env={"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"},
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"affine: error: text on stdin is not UTF-8")
