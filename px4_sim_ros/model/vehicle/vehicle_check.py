"""Judging a vehicle: which of its figures no multicopter of this kind has."""
from __future__ import annotations

import dataclasses

from px4_sim_ros.model.parameters import range_text
from px4_sim_ros.model.vehicle.vehicle_figures import Figures


def implausible(figures: Figures) -> list[str]:
    """Return a sentence about each figure out of its range: name, value, what is expected."""
    sentences = []
    for name, info in figures.infos().items():
        value = getattr(figures, name)
        if value is not None and not _within(value, info):
            unit = f" {info['unit']}" if info['unit'] else ''
            sentences.append(
                f"{name} = {value:.4g}{unit}: expected {range_text(info)}; it is"
                f" {info['description']}")
    return sentences


def _within(value: float, info: dict) -> bool:
    """Return whether a value is in its range; rounding does not put it out."""
    slack = 1e-9
    return (
        (info['minimum'] is None or value >= info['minimum'] - slack)
        and (info['above'] is None or value > info['above'])
        and (info['maximum'] is None or value <= info['maximum'] + slack))


def as_json(figures: Figures) -> dict[str, float | None]:
    """Return the figures by name; JSON has no infinity, so an infinite one is None."""
    return {name: None if value is None or value in (float('inf'), float('-inf')) else value
            for name, value in dataclasses.asdict(figures).items()}
