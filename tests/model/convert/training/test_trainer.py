"""Which tensors a step changes."""

import pytest
from affine_convert.training.trainer import is_trained

LAYER = "model.layers.0."


@pytest.mark.parametrize(
    ("name", "trained_by"),
    [
        (f"{LAYER}self_attn.alpha_proj.weight", {"alpha", "attention", "all"}),
        (f"{LAYER}self_attn.o_proj.weight", {"attention", "all"}),
        (f"{LAYER}self_attn.sinks", {"attention", "all"}),
        (f"{LAYER}mlp.up_proj.weight", {"all"}),
        ("model.embed_tokens.weight", {"all"}),
        (f"{LAYER}self_attn.alpha_ma", set()),
    ],
)
def test_gradients_change_what_train_names_and_never_the_running_mean(name, trained_by):
    assert {kind for kind in ("alpha", "attention", "all") if is_trained(name, kind)} == trained_by
