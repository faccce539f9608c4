"""from-gguf on small files made here and on the real default model."""

import json

import numpy as np
import pytest
from affine_convert import from_gguf
from affine_convert.errors import ConvertError
from affine_convert.gguf_config import llama3_divisors
from affine_convert.gguf_weights import hugging_face_name
from affine_convert.safetensors_reader import read_folder
from gguf_maker import DIM, HEADS, HIDDEN, KV_HEADS, write_gguf
from numpy_llama import NumpyLlama
from tokenizers import Tokenizer

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def convert(tmp_path, **options):
    """Weights that were written, the config that came out, and its folder."""
    weights = write_gguf(tmp_path / "m.gguf", **options)
    folder = tmp_path / "out"
    from_gguf.convert(str(tmp_path / "m.gguf"), folder, "float32")
    return weights, json.loads((folder / "config.json").read_text()), folder


def assert_refused(tmp_path, match, **options):
    with pytest.raises(ConvertError, match=match):
        convert(tmp_path, **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.gguf"]


@pytest.mark.parametrize("architecture", ["llama", "qwen2"])
def test_weights_come_back_as_they_were(tmp_path, architecture):
    biases = {
        "blk.0.attn_q.bias": np.arange(HEADS * DIM, dtype=np.float32),
        "blk.0.attn_k.bias": np.arange(KV_HEADS * DIM, dtype=np.float32),
        "blk.0.attn_v.bias": np.arange(KV_HEADS * DIM, dtype=np.float32),
    }
    weights, config, folder = convert(
        tmp_path, architecture=architecture, pre="qwen2", tensors=biases
    )
    found = read_folder(folder)
    assert len(found) == len(weights)
    for name, values in weights.items():
        assert np.array_equal(found[hugging_face_name(name)].load(), values), name
    assert config["attention_bias"] is True
    assert config["architectures"] == [
        {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}[architecture]
    ]


def test_config_and_generation_config(tmp_path):
    _, config, folder = convert(tmp_path)
    expected = {
        "hidden_size": HIDDEN,
        "head_dim": DIM,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5,
        "rope_theta": 5000000.0,
        "rope_scaling": None,
        "tie_word_embeddings": True,
        "torch_dtype": "float32",
        "vocab_size": 6,
        "eos_token_id": 4,
    }
    assert {key: config[key] for key in expected} == expected
    generation = json.loads((folder / "generation_config.json").read_text())
    assert (generation["bos_token_id"], generation["eos_token_id"]) == (3, 4)


def test_an_output_layer_of_its_own_unties_the_embeddings(tmp_path):
    output = np.ones((6, HIDDEN), np.float32)
    _, config, folder = convert(tmp_path, tensors={"output.weight": output})
    assert config["tie_word_embeddings"] is False
    assert np.array_equal(read_folder(folder)["lm_head.weight"].load(), output)


def test_llama3_rope_scaling_is_recovered(tmp_path):
    divisors = llama3_divisors(DIM, 5000000.0, LLAMA3).astype(np.float32)
    _, config, folder = convert(tmp_path, tensors={"rope_freqs.weight": divisors})
    assert config["rope_scaling"] == LLAMA3
    assert not any("rope" in name for name in read_folder(folder))


def test_what_is_not_known_is_refused_by_name_and_leaves_nothing(tmp_path):
    assert_refused(tmp_path, "'gemma'", architecture="gemma")
    assert_refused(tmp_path, "'deepseek-llm'", pre="deepseek-llm")
    assert_refused(tmp_path, "mixture of experts", expert_count=8)
    assert_refused(tmp_path, "'yarn'", **{"rope.scaling.type": "yarn"})
    assert_refused(
        tmp_path, "blk.0.attn_sinks", tensors={"blk.0.attn_sinks.weight": np.ones(4, np.float32)}
    )
    assert_refused(
        tmp_path, "rope_freqs", tensors={"rope_freqs.weight": np.array([2, 8], np.float32)}
    )
    assert_refused(
        tmp_path, "NaN", tensors={"output_norm.weight": np.full(HIDDEN, np.nan, np.float32)}
    )


def test_sources_that_are_not_there_are_named(tmp_path):
    with pytest.raises(ConvertError, match="pip install no-such-package-here"):
        from_gguf.convert("package:no-such-package-here", tmp_path / "out", "bfloat16")
    with pytest.raises(ConvertError, match="none.gguf is no file"):
        from_gguf.convert(str(tmp_path / "none.gguf"), tmp_path / "out", "bfloat16")
    (tmp_path / "bad.gguf").write_bytes(b"GGUF is not what follows")
    with pytest.raises(ConvertError, match="no readable GGUF"):
        from_gguf.convert(str(tmp_path / "bad.gguf"), tmp_path / "out", "bfloat16")


def test_an_output_folder_that_exists_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(ConvertError, match="exists already"):
        convert(tmp_path)


@pytest.mark.parametrize(
    ("pre", "text", "ids"),
    [("llama-bpe", "ab</s>", [3, 2, 4]), ("qwen2", "ab</s>", [2, 4]), ("smollm", "ab</s>", [2, 4])],
)
def test_tokenizers_of_all_families_load(tmp_path, pre, text, ids):
    _, _, folder = convert(tmp_path, pre=pre)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode(text).ids == ids
    assert tokenizer.token_to_id("[PAD5]") is None
    assert tokenizer.decode(ids, skip_special_tokens=True) == "ab"


def test_smollm2_has_the_sizes_of_its_original(smollm2):
    tensors = read_folder(smollm2)
    config = json.loads((smollm2 / "config.json").read_text())
    assert len(tensors) == 272
    assert sum(np.prod(tensor.shape) for tensor in tensors.values()) == 134_515_008
    assert {tensor.dtype for tensor in tensors.values()} == {"BF16"}
    assert (config["rms_norm_eps"], config["rope_theta"]) == (1e-5, 100000.0)


def test_smollm2_tokenizes_as_its_original(smollm2):
    tokenizer = Tokenizer.from_file(str(smollm2 / "tokenizer.json"))
    assert tokenizer.encode("2024").tokens == ["2", "0", "2", "4"]
    assert tokenizer.encode("<|im_start|>user\n").ids[:1] == [1]
    assert len(tokenizer.get_vocab()) == 49152
    for text in (
        "Hello, world!  two spaces\n\ttab",
        "naïve café — 数字 123",
        "🙂 don't",
        "a\u00a0b",
    ):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
    assert tokenizer.decode([1, 2, 0], skip_special_tokens=True) == ""
    settings = json.loads((smollm2 / "tokenizer_config.json").read_text())
    assert "<|im_start|>assistant" in settings["chat_template"]
    assert (settings["bos_token"], settings["eos_token"]) == ("<|im_start|>", "<|im_end|>")


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [("The capital of France is", " Paris"), ("one, two, three, four,", " five")],
)
def test_smollm2_knows_what_it_learned_before_and_after_affinize(
    smollm2, affine_smollm2, prompt, answer
):
    tokenizer = Tokenizer.from_file(str(smollm2 / "tokenizer.json"))
    tokens = tokenizer.encode(prompt).ids
    plain = NumpyLlama(smollm2).logits(tokens)
    assert tokenizer.decode([int(plain[-1].argmax())]) == answer
    assert np.array_equal(NumpyLlama(affine_smollm2).logits(tokens), plain)
