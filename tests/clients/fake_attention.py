"""Statistics of attention as the fake service answers them: numbers that a test can add up."""

from __future__ import annotations

from affine_client._proto import completion_pb2 as pb

BINS = 23
LAYERS, HEADS = 2, 3


def attention_heads(
    queries: int = 4,
    *,
    layers: int = LAYERS,
    heads: int = HEADS,
    affine: bool = True,
    shift: float = 0.0,
    non_finite: int = 0,
) -> pb.AttentionHeads:
    """Every head has `queries`; its means grow with layer and head, and by `shift`."""
    cells = [(layer, head) for layer in range(layers) for head in range(heads)]
    place = [layer + 0.1 * head + shift for layer, head in cells]
    message = pb.AttentionHeads(
        num_layers=layers,
        num_heads=heads,
        queries=[queries] * len(cells),
        non_finite=[non_finite] * len(cells),
        entropy=[2.0 + value for value in place],
        first_token_mass=[0.1 + value / 10 for value in place],
        mean_score=[value - 1.0 for value in place],
        largest_score=[10.0 + value for value in place],
        sink_mass=[0.0] * len(cells),
        weight_sum=[1.0] * len(cells),
        negative_mass=[0.0] * len(cells),
        weight_sum_counts=[queries * heads if bin == 11 else 0 for bin in range(BINS)] * layers,
    )
    if affine:
        message.alpha.extend(0.5 + value / 10 for value in place)
        message.alpha_deviation.extend([0.05] * len(cells))
        message.alpha_at_zero.extend([0.25] * len(cells))
        message.alpha_at_one.extend([0.0] * len(cells))
        message.alpha_ma.extend([0.5] * len(cells))
    return message


def stability_summary(
    queries: int, heads: pb.AttentionHeads | None, *, affine: bool = True
) -> pb.StabilitySummary:
    """Of one request with `queries` positions."""
    summary = pb.StabilitySummary(
        queries=queries,
        entropy=2.5,
        worst_entropy=pb.WorstHead(value=0.5, layer=1, head=2),
        first_token_mass=0.25,
        worst_first_token_mass=pb.WorstHead(value=0.75, layer=0, head=1),
        largest_score=pb.WorstHead(value=12.5, layer=1, head=0),
        heads=heads,
    )
    if affine:
        summary.alpha, summary.alpha_at_zero, summary.alpha_at_one = 0.5, 0.125, 0.0
        summary.alpha_drift = 0.0625
        summary.worst_alpha_drift.CopyFrom(pb.WorstHead(value=0.25, layer=1, head=1))
    return summary
