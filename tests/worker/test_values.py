"""Values that every runner makes alike."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from et_worker import values
from hypothesis import given
from hypothesis import strategies as st

NATIVE = Path(__file__).resolve().parents[2] / "bench" / "native"


def test_the_generator_is_splitmix64() -> None:
    # As in the test vectors that Vigna's C code gives for the seed 1234567.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert list(values.random_bits(4, 1234567)) == expected


@given(st.integers(0, 2**31), st.integers(0, 20), st.floats(0.01, 100))
def test_spread_has_the_deviation_it_says(seed: int, index: int, scale: float) -> None:
    made = np.empty(20_000, np.float32)
    values.spread(made, values.input_key(seed, index), scale * values.UNIT)
    assert abs(made.mean()) < 0.05 * scale
    assert made.std() == pytest.approx(scale, rel=0.03)
    assert np.abs(made).max() <= np.float32(scale * values.UNIT)


@given(st.integers(0, 2**31), st.integers(1, 60_000))
def test_integers_are_below_the_bound(seed: int, high: int) -> None:
    made = np.empty(1000, np.int64)
    values.integers(made, values.input_key(seed, 0), high)
    assert 0 <= made.min() <= made.max() < high


def test_no_two_inputs_share_their_values() -> None:
    keys = {values.input_key(seed, index) for seed in range(50) for index in range(20)}
    assert len(keys) == 1000
    first = {int(values.random_bits(1, key)[0]) for key in keys}
    assert len(first) == 1000


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_the_runner_hashes_as_hashlib_does(tmp_path: Path) -> None:
    source = tmp_path / "hash.cpp"
    source.write_text(
        '#include "sha256.h"\n#include <iostream>\n#include <iterator>\n'
        "int main() { std::string all(std::istreambuf_iterator<char>(std::cin), {});\n"
        "  et_peak::Sha256 digest; digest.update(all.data(), all.size() / 3);\n"
        "  digest.update(all.data() + all.size() / 3, all.size() - all.size() / 3);\n"
        "  std::cout << digest.hex_digest(); }\n"
    )
    program = tmp_path / "hash"
    command = ["c++", "-std=c++17", f"-I{NATIVE}", str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    for size in (0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 1000, 70_001):
        data = values.random_bits(size // 8 + 1, size).tobytes()[:size]
        done = subprocess.run([str(program)], input=data, capture_output=True, check=True)
        assert done.stdout.decode() == hashlib.sha256(data).hexdigest(), size
