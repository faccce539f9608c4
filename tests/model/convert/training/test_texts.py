"""Texts by kind."""

import pytest
from affine_convert.errors import ConvertError
from affine_convert.training.texts import Texts


def test_a_files_name_is_its_kind(plain, prose):
    texts = Texts.read(plain, [prose])
    assert texts.tokens.keys() == texts.sha256.keys() == {"prose"}
    assert len(texts.tokens["prose"]) > 500


def test_texts_of_the_same_kind_are_refused(plain, prose, tmp_path):
    twin = tmp_path / "more" / "prose.txt"
    twin.parent.mkdir()
    twin.write_text("x")
    with pytest.raises(ConvertError, match="Several texts are of kind prose"):
        Texts.read(plain, [prose, twin])
