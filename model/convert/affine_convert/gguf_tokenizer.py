"""tokenizer.json, tokenizer_config.json and special_tokens_map.json from GGUF metadata."""

from dataclasses import dataclass

from affine_convert.errors import ConvertError
from affine_convert.gguf_model import GgufModel

_CONTROL, _USER_DEFINED, _UNUSED = 3, 4, 5  # tokenizer.ggml.token_type


def _byte_level(trim_offsets: bool, use_regex: bool) -> dict:
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": trim_offsets,
        "use_regex": use_regex,
    }


def _split(digits: str, trim_offsets: bool) -> dict:
    """The pre-tokenizer of the GPT-4 kind; runs of digits are cut by `digits`."""
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
        + digits
        + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    return {"type": "Sequence", "pretokenizers": [split, _byte_level(trim_offsets, False)]}


@dataclass(frozen=True)
class Family:
    """What a `tokenizer.ggml.pre` stands for in tokenizer.json."""

    pre_tokenizer: dict
    normalizer: dict | None = None
    ignore_merges: bool = False
    adds_bos: bool = False  # unless tokenizer.ggml.add_bos_token says otherwise


FAMILIES = {
    "smollm": Family(
        {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                _byte_level(True, True),
            ],
        }
    ),
    "llama-bpe": Family(_split(r"\p{N}{1,3}", True), ignore_merges=True, adds_bos=True),
    "qwen2": Family(_split(r"\p{N}", False), normalizer={"type": "NFC"}),
}


class GgufTokenizer:
    """The tokenizer that a GGUF file carries. Raises ConvertError for kinds that are not known."""

    def __init__(self, model: GgufModel):
        kind = model.get("tokenizer.ggml.model")
        pre = model.get("tokenizer.ggml.pre")
        if kind != "gpt2" or pre not in FAMILIES:
            raise ConvertError(
                f"The tokenizer is {kind!r} with the pre-tokenizer {pre!r}. Allowed is "
                f"'gpt2' with one of {', '.join(FAMILIES)}. Take the model's own tokenizer.json."
            )
        self._model = model
        self._family = FAMILIES[pre]
        self._tokens: list[str] = model.get("tokenizer.ggml.tokens")
        self._types: list[int] = model.find("tokenizer.ggml.token_type", [1] * len(self._tokens))

    def _special(self, name: str) -> tuple[int, str] | None:
        """Id and text of the bos, eos, unknown or padding token."""
        token = self._model.find(f"tokenizer.ggml.{name}_token_id")
        return None if token is None or token >= len(self._tokens) else (token, self._tokens[token])

    def _added_tokens(self) -> list[dict]:
        return [
            {
                "id": token,
                "content": text,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": kind == _CONTROL,
            }
            for token, (text, kind) in enumerate(zip(self._tokens, self._types, strict=True))
            if kind in (_CONTROL, _USER_DEFINED)
        ]

    def _post_processor(self) -> dict | None:
        bos = self._special("bos")
        adds_bos = self._model.find("tokenizer.ggml.add_bos_token", self._family.adds_bos)
        if not adds_bos or bos is None:
            return None
        token, text = bos
        first = {"SpecialToken": {"id": text, "type_id": 0}}
        second = {"SpecialToken": {"id": text, "type_id": 1}}
        return {
            "type": "TemplateProcessing",
            "single": [first, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [
                first,
                {"Sequence": {"id": "A", "type_id": 0}},
                second,
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {text: {"id": text, "ids": [token], "tokens": [text]}},
        }

    def tokenizer_json(self) -> dict:
        """tokenizer.json for the `tokenizers` library."""
        vocabulary = {
            text: token
            for token, (text, kind) in enumerate(zip(self._tokens, self._types, strict=True))
            if kind != _UNUSED
        }
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": self._added_tokens(),
            "normalizer": self._family.normalizer,
            "pre_tokenizer": self._family.pre_tokenizer,
            "post_processor": self._post_processor(),
            "decoder": {
                "type": "ByteLevel",
                "add_prefix_space": True,
                "trim_offsets": True,
                "use_regex": True,
            },
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": self._family.ignore_merges,
                "vocab": vocabulary,
                "merges": [
                    merge.split(" ", 1) for merge in self._model.get("tokenizer.ggml.merges")
                ],
            },
        }

    def special_tokens_map(self) -> dict:
        """special_tokens_map.json."""
        names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
        found = {ours: self._special(theirs) for ours, theirs in names.items()}
        return {f"{ours}_token": token[1] for ours, token in found.items() if token is not None}

    def tokenizer_config(self) -> dict:
        """tokenizer_config.json, with the chat template if the file has one."""
        config = {
            "add_prefix_space": False,
            "added_tokens_decoder": {
                str(token["id"]): {key: value for key, value in token.items() if key != "id"}
                for token in self._added_tokens()
            },
            **self.special_tokens_map(),
            "clean_up_tokenization_spaces": False,
            "model_max_length": self._model.hyper("context_length"),
            "tokenizer_class": "PreTrainedTokenizerFast",
        }
        template = self._model.find("tokenizer.chat_template")
        return config if template is None else {**config, "chat_template": template}
