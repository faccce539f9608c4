"""Every picture of the report, in its order."""

from __future__ import annotations

from collections.abc import Sequence

from affine_client.pages.picture import Picture
from affine_client.report import head_pictures, layer_pictures, weight_sum_picture
from affine_client.report.subject import Subject

_ANALYSES = (
    layer_pictures.scores,
    weight_sum_picture.weight_sums,
    layer_pictures.first_token,
    head_pictures.utilization,
    layer_pictures.entropy,
    head_pictures.alpha,
)


def pictures_of(subjects: Sequence[Subject]) -> list[Picture]:
    return [analysis(subjects) for analysis in _ANALYSES]
