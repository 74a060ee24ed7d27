import copy

import pytest

from bench.report.html.bisection import facts, headline, plot_content

CULPRIT = {
    "name": "4753d75e2b",
    "index": 3,
    "subject": "free raw blobs",
    "confidence": 0.97,
    "credible_set": ["029c1ffea8", "4753d75e2b"],
    "credible_indices": [2, 3],
    "step": -30e6,
    "step_interval": [-32e6, -28e6],
    "share": 0.96,
    "confirmed": True,
    "parent": "029c1ffea8",
}
VERDICT = {
    "status": "found",
    "metric": "export_peak",
    "unit": "bytes",
    "culprits": [CULPRIT],
    "suspects": [],
    "difference": -31e6,
    "difference_interval": [-33e6, -29e6],
    "candidates_total": 5,
    "candidates_relevant": 4,
    "measurements": 6,
    "good": "aaaa",
    "bad": "bbbb",
    "command": "python -m bisect export_peak",
    "values": [
        {"index": 0, "name": "aaaa", "subject": "", "values": [199e6, 200e6, 201e6]},
        {"index": 2, "name": "029c1ffea8", "subject": "x", "values": [200e6]},
        {"index": 3, "name": "4753d75e2b", "subject": "free raw blobs", "values": [170e6]},
        {"index": 5, "name": "bbbb", "subject": "", "values": [169e6, 171e6]},
    ],
}


def test_the_plot_has_levels_a_change_point_and_its_intervals() -> None:
    content = plot_content(VERDICT)
    assert content is not None
    assert [(p["x"], p["y"]) for p in content["points"]] == [
        *((0, 199.0), (0, 200.0), (0, 201.0), (2, 200.0)),
        *((3, 170.0), (5, 169.0), (5, 171.0)),
    ]
    assert content["levels"] == [{"x": 0, "x2": 2, "y": 200.0}, {"x": 3, "x2": 5, "y": 170.0}]
    (step,) = content["steps"]
    assert (step["x"], step["low"], step["high"]) == (2.5, 1, 3)  # between 1 and 2, or 2 and 3
    assert (step["y"], step["y2"]) == (168.0, 172.0)  # 200 with the step's interval
    assert "MB" in content["title"]


def test_an_exact_size_is_told_to_the_byte_and_is_no_peak() -> None:
    verdict = VERDICT | {"metric": "pte_size", "exact": True, "difference": -640.0}
    verdict["culprits"] = [CULPRIT | {"step": -640.0, "step_interval": [-640.0, -640.0]}]
    content = plot_content(verdict)
    assert content is not None
    assert content["title"] == "pte_size, MB"
    assert content["steps"][0]["text"] == "−640 bytes"
    assert dict(facts(verdict))["whole difference"] == "−640 bytes"


def test_two_culprits_make_three_levels() -> None:
    verdict = copy.deepcopy(VERDICT)
    first = CULPRIT | {"index": 2, "name": "029c1ffea8"}
    verdict["culprits"] = [CULPRIT, first]
    content = plot_content(verdict)
    assert content is not None
    assert [(level["x"], level["x2"]) for level in content["levels"]] == [(0, 1), (2, 2), (3, 5)]


def test_a_verdict_without_positions_has_no_plot() -> None:
    assert plot_content({**VERDICT, "values": []}) is None
    assert plot_content({k: v for k, v in VERDICT.items() if k != "values"}) is None


def test_facts_have_units_and_signs() -> None:
    said = dict(facts(VERDICT))
    assert said["whole difference"] == "−31.0 MB (95%: −33.0 MB to −29.0 MB)"
    assert said["step at 4753d75e2b"].startswith("−30.0 MB (95%: −32.0 MB to −28.0 MB), 96% of")
    assert said["credible set"] == "029c1ffea8, 4753d75e2b"
    seconds = dict(facts({**VERDICT, "unit": "seconds", "difference": -2.5}))
    assert seconds["whole difference"].startswith("−2.50 s")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("found", "export_peak changed with 4753d75e2b free raw blobs"),
        ("no_difference", "export_peak does not differ between aaaa and bbbb beyond the noise"),
        ("opposite", "are they swapped?"),
        ("undecided", "not decided"),
    ],
)
def test_headline_says_the_status(status: str, words: str) -> None:
    culprits = [CULPRIT] if status == "found" else []
    assert words in headline({**VERDICT, "status": status, "culprits": culprits})


def test_a_suspect_is_not_called_a_culprit() -> None:
    verdict = {**VERDICT, "status": "unconfirmed", "culprits": [], "suspects": [CULPRIT]}
    assert "NOT confirmed" in headline(verdict)
