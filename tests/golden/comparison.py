"""Compares affine_score's answers with stored ones: which tokens, how far the log-probabilities."""

import dataclasses

from score_program import expected_tokens


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One prompt's outcome. `agreed` tokens of `asked` are equal from the start on."""

    kind: str
    prompt_tokens: int
    agreed: int
    asked: int
    margin: float | None  # nats by which the stored token led where the answer first differs
    largest: float  # nats; over the prompt's log-probabilities
    mean: float  # nats; the same

    def equal(self, tolerance):
        """Token for token the same, log-probabilities within `tolerance` nats."""
        return self.agreed == self.asked and self.largest <= tolerance


def compare(stored, answer, end_ids):
    """Comparison of `answer` (affine_score's) with `stored` (ids, logprobs, tokens, margins)."""
    expected = expected_tokens(stored["tokens"], answer["tokens"], end_ids)
    agreed = 0
    for one, other in zip(expected, answer["tokens"], strict=False):
        if one != other:
            break
        agreed += 1
    differences = _differences(answer["prompt_logprobs"], stored["logprobs"])
    return Comparison(
        kind=stored["kind"],
        prompt_tokens=len(stored["ids"]),
        agreed=agreed,
        asked=len(expected),
        margin=stored["margins"][agreed] if agreed < len(expected) else None,
        largest=max(differences, default=0.0),
        mean=sum(differences) / max(1, len(differences)),
    )


def mean_difference(answers, others):
    """Mean |difference| in nats over all prompt log-probabilities of two lists of answers."""
    differences = []
    for one, other in zip(answers, others, strict=True):
        differences += _differences(one["prompt_logprobs"], other["prompt_logprobs"])
    return sum(differences) / len(differences)


def _differences(values, others):
    return [abs(value - other) for value, other in zip(values, others, strict=True)]


def table(comparisons):
    """Lines of text, one for each comparison."""
    yield f"{'prompt':28} {'tokens':>6} {'greedy':>8} {'margin':>8} {'largest':>9} {'mean':>9}"
    for one in comparisons:
        margin = "" if one.margin is None else f"{one.margin:.5f}"
        yield (
            f"{one.kind:28} {one.prompt_tokens:6} {one.agreed:4}/{one.asked:<3} {margin:>8} "
            f"{one.largest:9.2e} {one.mean:9.2e}"
        )
