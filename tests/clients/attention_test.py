"""The statistics of attention: as calls of the package, and on the command line."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from affine_client import (
    AsyncClient,
    Client,
    NotFound,
    ServerFault,
    Unsupported,
    WorstHead,
    join,
)
from affine_client._proto import completion_pb2 as pb
from affine_client.cli.stability_tables import show_summary
from affine_client.cli.terminal import Terminal
from affine_client.stability_wire import heads_of, summary_of
from command_line import CommandLine
from fake_attention import attention_heads
from fake_service import FakeServer, FakeService


def test_attention_is_read_by_layer_and_head(client: Client) -> None:
    window = client.attention("fake")
    assert (window.model, window.observed_steps) == ("fake", 3)
    assert (window.heads.num_layers, window.heads.num_heads) == (2, 3)
    assert window.heads.queries == ((12, 12, 12), (12, 12, 12))
    assert window.heads.entropy[1] == pytest.approx((3.0, 3.1, 3.2))
    assert window.heads.weight_sum_counts[0][11] == 36
    assert window.heads.alpha is not None and window.heads.alpha[0][0] == 0.5


def test_without_affine_scaling_there_is_no_alpha(client: Client) -> None:
    heads = client.attention("plain").heads
    assert heads.alpha is heads.alpha_deviation is heads.alpha_at_zero is heads.alpha_ma is None


def test_an_unknown_model_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound, match="served is fake, plain"):
        client.attention("other")


def test_an_older_server_is_unsupported(client: Client, service: FakeService) -> None:
    service.knows_stability = False
    with pytest.raises(Unsupported):
        client.attention()


def test_a_list_of_the_wrong_length_is_a_fault_of_the_servers() -> None:
    message = attention_heads()
    message.entropy.append(1.0)
    with pytest.raises(ServerFault, match="entropy has 7 values for 2 layers of 3"):
        heads_of(message)


def test_a_completion_carries_its_summary_only_when_asked(client: Client) -> None:
    assert client.complete("a b", max_tokens=2).stability is None
    summary = client.complete("a b", max_tokens=2, stability=True).stability
    assert summary is not None
    assert (summary.queries, summary.entropy, summary.alpha) == (4, 2.5, 0.5)
    assert summary.worst_first_token_mass == WorstHead(0.75, layer=0, head=1)
    assert summary.worst_alpha_drift == WorstHead(0.25, layer=1, head=1)
    assert summary.heads is None


def test_a_summary_of_plain_weights_has_no_alpha(client: Client) -> None:
    summary = client.complete("a", model="plain", stability=True).stability
    assert summary is not None
    assert summary.alpha is summary.alpha_drift is summary.worst_alpha_drift is None


def test_a_summary_without_finite_scores_has_no_worst_head() -> None:
    summary = summary_of(pb.StabilitySummary(queries=2, non_finite=12))
    assert summary.worst_entropy is summary.worst_first_token_mass is summary.largest_score is None
    show_summary(Terminal(out := io.StringIO()), summary)
    assert "largest score" not in out.getvalue() and "not finite" in out.getvalue()


def test_the_last_piece_of_a_stream_carries_the_summary(client: Client) -> None:
    params = {"max_tokens": 3, "stability": True, "stability_heads": True}
    chunks = list(client.stream("a b", **params))
    assert [chunk.stability is None for chunk in chunks] == [True, True, False]
    answer = client.complete("a b", **params)
    assert join(chunks) == answer
    assert answer.stability is not None and answer.stability.heads is not None
    assert answer.stability.heads.queries[0] == (5, 5, 5)


def test_an_answer_may_end_as_unstable(client: Client, service: FakeService) -> None:
    service.finish_reason = pb.FINISH_REASON_UNSTABLE
    assert client.complete("a", stability=True).finish_reason == "unstable"


def test_asyncio_answers_the_same(server: FakeServer, client: Client) -> None:
    async def body() -> None:
        async with AsyncClient(server.address) as other:
            assert await other.attention() == client.attention()
            params = {"stability": True, "stability_heads": True}
            assert await other.complete("a", **params) == client.complete("a", **params)

    asyncio.run(body())


def test_the_command_shows_a_row_for_each_layer(affine: CommandLine) -> None:
    assert affine("attention", "--model", "fake") == 0
    titles, first, second = affine.out.splitlines()
    assert titles.startswith("layer  queries  entropy, nats")
    assert titles.endswith("drift") and "not finite" not in titles
    assert "2.100 (h0 2.000)" in first  # the lowest entropy is worst
    assert "0.110 (h2 0.120)" in first  # the highest first-token mass
    assert "10.20 (h2)" in first
    assert "0.510 ± 0.050" in first and "25.0%" in first
    assert second.split()[:2] == ["1", "12"]
    assert affine.err.startswith("[fake, 3 observed steps;")


def test_the_columns_of_alpha_are_only_for_affine_scaling(affine: CommandLine) -> None:
    affine("attention", "--model", "plain")
    assert "alpha" not in affine.out and "weight sum" in affine.out


def test_the_command_prints_json(affine: CommandLine) -> None:
    affine("attention", "--json")
    answer = json.loads(affine.out)
    assert (answer["model"], answer["observed_steps"]) == ("fake", 3)
    assert answer["heads"]["entropy"][0][0] == 2.0


def test_before_the_first_observed_step_it_says_how_to_get_one(
    affine: CommandLine, service: FakeService
) -> None:
    service.observed_steps = 0
    assert affine("attention") == 0
    assert affine.out == "" and "--stability_sample_every" in affine.err


def test_an_older_server_is_named_with_the_remedy(
    affine: CommandLine, service: FakeService, server: FakeServer
) -> None:
    service.knows_stability = False
    assert affine("attention") == 1
    assert server.address in affine.err and "deploy/serve.sh" in affine.err
    assert len(affine.err.splitlines()) == 1


def test_complete_prints_the_summary_after_the_answer(affine: CommandLine) -> None:
    assert affine("complete", "a", "--stability") == 0
    answer, empty, titles, *rows = affine.out.splitlines()
    assert (answer, empty) == (" red green blue", "")
    assert titles.split() == ["attention", "mean", "worst", "head"]
    assert rows[1].split(maxsplit=1) == [
        "entropy",
        "2.500 nats  lowest 0.500 at layer 1, head 2",
    ]
    assert rows[-1].startswith("alpha drift")


def test_complete_shows_the_layers_too(affine: CommandLine, service: FakeService) -> None:
    assert affine("complete", "a", "--stability-heads", "--no-stream") == 0
    assert service.requests[0].stability and service.requests[0].stability_heads
    assert "layer  queries  entropy" in affine.out


def test_complete_puts_the_summary_into_json(affine: CommandLine) -> None:
    affine("complete", "a", "--stability", "--json")
    assert json.loads(affine.out)["stability"]["largest_score"]["value"] == 12.5
    affine("complete", "a", "--stability", "--json", "--stream")
    last = json.loads(affine.out.splitlines()[-1])
    assert last["stability"]["queries"] == 4
    assert affine.err == ""


@pytest.mark.parametrize("form", [(), ("--json",), ("--json", "--stream")])
def test_complete_says_when_an_older_server_measured_nothing(
    affine: CommandLine, service: FakeService, form: tuple[str, ...]
) -> None:
    service.knows_stability = False
    assert affine("complete", "a", "--stability", *form) == 0
    assert "no stability in the answer" in affine.err and "deploy/serve.sh" in affine.err
