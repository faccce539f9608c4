"""Two models in one process: a plain one, and the affine one made from it by the identity. Each
answers under its own name, with metrics and limits of its own, and both say the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from affine_client._proto import completion_pb2 as pb
from grpc_api import GrpcApi
from http_api import HttpApi
from server_process import ServerProcess
from servers import Servers

NAMES = ("plain", "affine")
GREEDY = {"max_tokens": 24, "temperature": 0, "ignore_eos": True}
ENDLESS = {"max_tokens": 30_000, "ignore_eos": True}  # far longer than a test looks


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The two checkpoints by the names that they are served under."""
    import tiny_checkpoint
    from cases import case_named

    case = case_named("llama-softmax-unscaled-none")
    root = tmp_path_factory.mktemp("two_models")
    plain, affine = root / "softmax", root / "identity"
    tiny_checkpoint.write(case, plain)
    tiny_checkpoint.write_identity_affine(case, affine)
    for folder in (plain, affine):
        config = json.loads((folder / "config.json").read_text())
        config["max_position_embeddings"] = 32768
        (folder / "config.json").write_text(json.dumps(config))
    return dict(zip(NAMES, (plain, affine), strict=True))


@pytest.fixture(scope="module")
def server(module_servers: Servers, folders: dict[str, Path]) -> ServerProcess:
    models = ",".join(f"{name}={folder}" for name, folder in folders.items())
    return module_servers.start(
        models,
        "--kv_cache_gib=0.25",
        "--kv_cache_shares=affine=3,plain=1",
        "--stability_sample_every=1",
        "--stability_limits=largest_score=1000000",
    )


@pytest.fixture(scope="module")
def over_grpc(server: ServerProcess) -> Iterator[GrpcApi]:
    with GrpcApi(server.address) as api:
        yield api


@pytest.fixture(scope="module")
def over_http(server: ServerProcess) -> HttpApi:
    return HttpApi(server.address)


def series(server: ServerProcess, name: str) -> dict[str, float]:
    """A metric's values by model."""
    page = HttpApi(server.address).get("/metrics").text.splitlines()
    found = {}
    for model in NAMES:
        label = f'model_name="{model}"'
        values = [line for line in page if line.startswith(name + "{") and label in line]
        assert values, f"{name} of {model}"
        found[model] = sum(float(line.rsplit(" ", 1)[1]) for line in values)
    return found


def test_both_are_listed_in_order(over_grpc: GrpcApi, over_http: HttpApi) -> None:
    assert [model["id"] for model in over_http.get("/v1/models").json["data"]] == list(NAMES)
    models = over_grpc.stub.ListModels(pb.ListModelsRequest()).models
    assert [model.name for model in models] == list(NAMES)
    assert [model.attention.alpha_activation for model in models] == ["none", "linear_clipping"]
    assert over_http.get("/ready").json["models"] == list(NAMES)


@pytest.mark.parametrize("prompt", ["some words", "a", "The capital of France is"])
def test_each_answers_under_its_own_name_and_both_say_the_same(
    over_grpc: GrpcApi, over_http: HttpApi, prompt: str
) -> None:
    by_grpc = {name: over_grpc.complete(prompt, model=name, **GREEDY) for name in NAMES}
    by_http = {name: over_http.complete(prompt=prompt, model=name, **GREEDY) for name in NAMES}
    assert {name: answer.model for name, answer in by_grpc.items()} == {n: n for n in NAMES}
    assert {name: answer["model"] for name, answer in by_http.items()} == {n: n for n in NAMES}
    assert list(by_grpc["plain"].token_ids) == list(by_grpc["affine"].token_ids)
    texts = {answer.text for answer in by_grpc.values()}
    texts |= {answer["choices"][0]["text"] for answer in by_http.values()}
    assert len(texts) == 1


def test_without_a_name_the_first_answers(over_grpc: GrpcApi, over_http: HttpApi) -> None:
    assert over_grpc.complete("x", max_tokens=1).model == "plain"
    assert over_http.complete(prompt="x", max_tokens=1)["model"] == "plain"


def test_an_unknown_name_is_refused_with_those_that_are_served(
    server: ServerProcess, over_grpc: GrpcApi, over_http: HttpApi
) -> None:
    refused = server.metric("affine_requests_refused_total")
    error = over_grpc.error("x", model="other", max_tokens=1)
    answer = over_http.post("/v1/completions", {"model": "other", "prompt": "x"})
    assert (error.code(), answer.status) == (grpc.StatusCode.NOT_FOUND, 404)
    for text in (error.details(), answer.error["message"]):
        assert "`plain`, `affine`" in text
    assert server.metric("affine_requests_refused_total") == refused + 2


def test_metrics_are_each_models_own(server: ServerProcess, over_grpc: GrpcApi) -> None:
    tokens = series(server, "affine_generation_tokens_total")
    first = series(server, "affine_time_to_first_token_seconds_count")
    over_grpc.complete("count", model="affine", max_tokens=11, ignore_eos=True)
    list(over_grpc.stream("count", model="affine", max_tokens=11, ignore_eos=True))

    # A step is counted after its answers are out.
    server.wait_metric(
        "affine_generation_tokens_total",
        lambda _: (
            series(server, "affine_generation_tokens_total")
            == {**tokens, "affine": tokens["affine"] + 22}
        ),
    )
    now = series(server, "affine_time_to_first_token_seconds_count")
    assert now == {**first, "affine": first["affine"] + 2}
    for name in ("affine_model_info", "affine_attention_entropy_nats", "vllm:num_requests_running"):
        series(server, name)


def test_the_cache_is_divided_by_weight(server: ServerProcess) -> None:
    blocks = series(server, "affine_kv_cache_blocks")
    # A block of the affine model also keeps the sums of its values.
    assert blocks["affine"] == pytest.approx(3 * blocks["plain"], rel=0.05)


def test_both_serve_at_the_same_time(server: ServerProcess) -> None:
    def ask(number: int) -> tuple[str, str]:
        with GrpcApi(server.address) as api:
            name = NAMES[number % 2]
            answer = api.complete(f"{number // 2} at once", model=name, **GREEDY)
            return answer.model, answer.text

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(32)))
    assert [name for name, _ in answers] == [NAMES[number % 2] for number in range(32)]
    for plain, affine in zip(answers[::2], answers[1::2], strict=True):
        assert plain[1] == affine[1]


def test_a_drain_waits_for_both(servers: Servers, folders: dict[str, Path]) -> None:
    models = [f"{name}={folder}" for name, folder in folders.items()]
    server = servers.start(",".join(models), "--kv_cache_gib=0.25", "--shutdown_timeout=600")
    long = {"max_tokens": 400, "ignore_eos": True}
    with GrpcApi(server.address) as api:
        calls = [api.stream("hold", model=name, **long) for name in NAMES]
        begun = [next(call) for call in calls]
        server.terminate()
        tokens = [len(first.token_ids) for first in begun]
        for number, call in enumerate(calls):
            tokens[number] += sum(len(chunk.token_ids) for chunk in call)
    assert tokens == [400, 400]
    assert server.wait_exit() == 0


def test_a_limit_ends_requests_if_the_flag_says_so(
    servers: Servers, folders: dict[str, Path]
) -> None:
    server = servers.start(
        f"affine={folders['affine']}",
        "--kv_cache_gib=0.25",
        "--stability_sample_every=1",
        "--stability_limits=largest_score=0.000001",
        "--unstable_action=finish",
    )
    with GrpcApi(server.address) as api:
        answer = api.complete("x", request_id="the-unstable-one", **ENDLESS)
    assert answer.finish_reason == pb.FINISH_REASON_UNSTABLE
    line = server.wait_log("attention unstable")
    assert (line["request_id"], line["limit"]) == ("the-unstable-one", "largest_score")
    page = HttpApi(server.address).get("/metrics").text
    ours = 'affine_attention_unstable_requests_total{limit="largest_score",model_name="affine"} 1'
    ended = 'affine_requests_finished_total{finished_reason="unstable",model_name="affine"} 1'
    theirs = 'vllm:request_success_total{finished_reason="error",model_name="affine",engine="0"} 1'
    for wanted in (ours, ended, theirs):
        assert f"\n{wanted}\n" in page, wanted


def affine(server: ServerProcess, *words: str) -> str:
    """What the command line says; it must succeed."""
    program = [sys.executable, "-m", "affine_client.cli.main"]
    command = [*program, *words, "--address", server.address]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_one_command_draws_both_models_side_by_side(server: ServerProcess, tmp_path: Path) -> None:
    text, page, numbers = (tmp_path / name for name in ("text.txt", "both.html", "both.json"))
    text.write_text("The lighthouse keeper counted ships, and wrote each of them down. " * 8)
    files = ("--out", str(page), "--json", str(numbers))
    affine(server, "report", str(text), "--model=plain", "--compare=affine", *files)
    html = page.read_text()
    assert html.count("<svg") >= 6
    assert "plain" in html and "affine" in html
    plain, twin = json.loads(numbers.read_text())["models"]
    assert plain["model"]["name"] == "plain" and twin["model"]["name"] == "affine"


def test_the_window_of_each_model_is_shown_as_a_table(server: ServerProcess) -> None:
    for name in NAMES:
        HttpApi(server.address).complete(model=name, prompt="count", **GREEDY)
        assert "entropy" in affine(server, "attention", "--model", name)
