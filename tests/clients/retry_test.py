"""Which failures are tried again, after how long, and as what the others are raised."""

from __future__ import annotations

import random

import grpc
import pytest
from affine_client import (
    NO_RETRIES,
    AffineError,
    Busy,
    Cancelled,
    Client,
    DeadlineExceeded,
    InvalidArgument,
    MessageTooLarge,
    NotFound,
    RetryPolicy,
    ServerFault,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from fake_service import Failure, FakeServer, FakeService

Code = grpc.StatusCode
FULL = Failure(Code.RESOURCE_EXHAUSTED, "the queue is full: 4 of max_num_queued_reqs 4", "3")
DRAINING = Failure(Code.UNAVAILABLE, "the server is draining")


def test_busy_and_unavailable_are_tried_again(
    client: Client, service: FakeService, waits: list[float]
) -> None:
    service.failures.extend([FULL, DRAINING])
    assert client.complete("x").text == " red green blue"
    assert len(service.requests) == 3
    assert waits[0] >= 3.0  # never sooner than the server suggests
    assert 0.1 <= waits[1] <= 0.3  # the second nominal delay, 0.2 s, give or take a half


def test_a_stream_is_tried_again_until_its_first_piece(
    client: Client, service: FakeService, waits: list[float]
) -> None:
    service.failures.append(DRAINING)
    assert [chunk.text for chunk in client.stream("x", max_tokens=2)] == [" red", " green"]
    assert len(waits) == 1


def test_a_stream_is_not_tried_again_after_its_first_piece(
    client: Client, service: FakeService, waits: list[float]
) -> None:
    service.fail_after_first_chunk = DRAINING
    stream = client.stream("x", max_tokens=2)
    assert next(stream).text == " red"
    with pytest.raises(Unavailable, match="draining"):
        next(stream)
    assert (len(service.requests), waits) == (1, [])


def test_the_last_failure_is_raised_when_attempts_run_out(
    client: Client, service: FakeService, waits: list[float]
) -> None:
    service.failures.extend([FULL] * 5)
    with pytest.raises(Busy, match="max_num_queued_reqs 4") as caught:
        client.complete("x")
    assert (len(service.requests), len(waits), caught.value.retry_after) == (5, 4, 3.0)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (Code.INVALID_ARGUMENT, InvalidArgument),
        (Code.NOT_FOUND, NotFound),
        (Code.DEADLINE_EXCEEDED, DeadlineExceeded),
        (Code.CANCELLED, Cancelled),
        (Code.INTERNAL, ServerFault),
        (Code.UNKNOWN, ServerFault),
        (Code.UNAUTHENTICATED, Unauthenticated),
        (Code.PERMISSION_DENIED, Unauthenticated),
        (Code.UNIMPLEMENTED, Unsupported),
        (Code.ABORTED, AffineError),
    ],
)
def test_other_codes_are_raised_at_once_with_the_servers_message(
    client: Client, service: FakeService, waits: list[float], code: Code, kind: type
) -> None:
    service.failures.append(Failure(code, "temperature is -1; allowed is [0, 100]"))
    with pytest.raises(AffineError) as caught:
        client.complete("x")
    assert type(caught.value) is kind
    assert str(caught.value) == "temperature is -1; allowed is [0, 100]"
    assert (caught.value.code, waits) == (code, [])


def test_an_over_large_message_is_not_taken_for_a_full_queue(
    client: Client, service: FakeService, waits: list[float]
) -> None:
    text = "Received message larger than max (67108900 vs. 4194304)"
    service.failures.append(Failure(Code.RESOURCE_EXHAUSTED, text))
    with pytest.raises(MessageTooLarge):
        client.complete("x")
    assert waits == []


def test_a_retry_hint_that_is_no_number_is_left_out(
    client: Client, service: FakeService, waits: list[float]
) -> None:
    service.failures.append(Failure(Code.RESOURCE_EXHAUSTED, "full", "soon"))
    client.complete("x")
    assert waits[0] < 1.0


def test_a_wait_that_would_outlast_the_timeout_gives_up_at_once(
    client: Client, service: FakeService, waits: list[float]
) -> None:
    service.failures.append(FULL)
    with pytest.raises(Busy):
        client.complete("x", timeout=2.0)
    assert waits == []


def test_without_retries_the_first_failure_is_raised(server: FakeServer) -> None:
    server.service.failures.append(DRAINING)
    with Client(server.address, retry=NO_RETRIES) as client, pytest.raises(Unavailable):
        client.complete("x")


def test_the_timeout_ends_a_stream(client: Client, service: FakeService) -> None:
    service.hold_after_first_chunk = True
    with pytest.raises(DeadlineExceeded):
        list(client.stream("x", max_tokens=2, timeout=0.2))
    assert service.cancelled.wait(timeout=10)


def test_the_clients_own_timeout_holds_where_the_call_has_none(server: FakeServer) -> None:
    server.service.hold_after_first_chunk = True
    with Client(server.address, timeout=0.2) as client, pytest.raises(DeadlineExceeded):
        list(client.stream("x", max_tokens=2))


def test_delays_grow_to_the_longest_and_stay_within_the_jitter() -> None:
    policy = RetryPolicy(attempts=9, first_delay=1, multiplier=2, longest_delay=5, jitter=0.25)
    error, draw = Unavailable("down"), random.Random(1)
    for attempt, nominal in enumerate((1, 2, 4, 5, 5), start=1):
        drawn = [policy.delay(attempt, error, None, draw) for _ in range(100)]
        assert 0.75 * nominal <= min(drawn) < nominal < max(drawn) <= 1.25 * nominal
    assert policy.delay(9, error, None, draw) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": 0},
        {"jitter": 1.5},
        {"jitter": -0.1},
        {"first_delay": -1},
        {"multiplier": 0.5},
        {"longest_delay": float("inf")},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        RetryPolicy(**wrong)
