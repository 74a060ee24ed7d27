import json
from bisect.explanation import Explanation
from bisect.holders import compare
from bisect.patch import Excerpt, excerpt

from tests.bisect.test_holders import MB, held, site
from tests.bisect.test_patch import PATCH


def compared() -> Explanation:
    clone = "torch::autograd::THPVariable_clone"
    before = held(site(40 * MB, "copy", "lower", leaf="deepcopy", native=clone), rest=3 * MB)
    after = held(site(10 * MB, "copy", "lower", leaf="deepcopy", native=clone), rest=4 * MB)
    return Explanation(held=compare(before, after), phases=("lower", "lower"))


def test_the_table_adds_up_and_says_that_it_is_no_measurement() -> None:
    lines = compared().lines()
    assert (
        "| `copy` executorch/copy.py (called by `lower`) | `deepcopy > THPVariable_clone` "
        "| 40.0 | 10.0 | -30.0 |"
    ) in lines
    assert "| everything else |  | 3.0 | 4.0 | +1.0 |" in lines
    assert "| the whole mark |  | 43.0 | 14.0 | -29.0 |" in lines
    text = "\n".join(lines)
    assert "no measurements" in text
    assert "in phase lower" in text
    assert "explain 103% of the difference" in text


def test_as_json_has_the_documented_keys() -> None:
    content = json.loads(json.dumps(compared().as_json()))
    assert (content["before_bytes"], content["after_bytes"]) == (43 * MB, 14 * MB)
    assert content["phases"] == ["lower", "lower"]
    assert content["functions"] == [
        {
            "function": "copy",
            "file": "executorch/copy.py",
            "through": "deepcopy > THPVariable_clone",
            "before_bytes": 40 * MB,
            "after_bytes": 10 * MB,
        }
    ]


def test_nothing_asked_is_nothing_said_and_a_failure_is() -> None:
    assert Explanation().lines() == []
    assert Explanation().as_json() is None
    failed = Explanation(why_not="memray can't be installed")
    assert "not known: memray can't be installed" in failed.lines()[-1]
    assert failed.as_json() == {"tool": "memray", "why_not": "memray can't be installed"}


def test_a_patch_can_not_close_its_fence() -> None:
    lines = Explanation(excerpt=Excerpt(("+++ a", "+````", "+x"), 7), sha="0" * 40).lines()
    assert [line for line in lines if line.startswith("`````")] == ["`````diff", "`````"]
    assert lines[-1] == "and 7 more changed lines: `git show 0000000000`"
    shown = Explanation(excerpt=excerpt(PATCH)).lines()
    assert shown[3:5] == ["```diff", "+++ exir/a.py"]
    assert Explanation(excerpt=Excerpt((), 0)).lines() == []
