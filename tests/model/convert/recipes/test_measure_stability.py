"""What is read of /metrics."""

import measure_stability

METRICS = """# TYPE affine_attention_alpha_mean gauge
affine_attention_alpha_mean{layer="0",model_name="m"} 0.5
affine_attention_alpha_mean{model_name="m",layer="1"} 0.25
affine_attention_entropy_nats{layer="0",model_name="m"} 2
affine_attention_entropy_nats{layer="1",model_name="m"} 3
affine_prompt_tokens_total{model_name="m"} 7
"""


def test_series_are_read_by_layer_and_shown_with_their_mean(monkeypatch):
    monkeypatch.setattr(measure_stability, "call", lambda *_: METRICS.encode())
    found = measure_stability.measure("url", "m", [1, 2], "salt")
    assert found == {"alpha_mean": {0: 0.5, 1: 0.25}, "entropy_nats": {0: 2.0, 1: 3.0}}
    assert measure_stability.table(found).splitlines() == [
        "| layer | softmax entropy, nats | α mean |",
        "|---|---|---|",
        "| 0 | 2.000 | 0.500 |",
        "| 1 | 3.000 | 0.250 |",
        "| all | 2.500 | 0.375 |",
    ]
