"""A stand-in for executor_runner with its flags, its log and its files: none comes with a wheel.

It takes memory, looks at its inputs and writes outputs of given bytes. What the real binary does
was tried by hand: built of examples/portable/executor_runner against 1.5.1's libraries.
"""

import sys
import textwrap
from pathlib import Path

FLAGS = ("model_path", "num_executions", "method_name", "inputs", "output_file", "print_output")

_SOURCE = """
#!PYTHON
import os, sys, time
FLAGS, NEWER = HAS, IS_NEWER
if "--help" in sys.argv:
    print(f"{sys.argv[0]}: Warning: SetUsageMessage() never called\\n\\n  Flags from x.cpp:")
    for flag in FLAGS:
        print(f"    -{flag} (What it is\\n      for.) type: string default: \\"\\"")
    sys.exit(1)
given = dict(word[2:].split("=", 1) for word in sys.argv[1:])
assert set(given) <= set(FLAGS), given
with open(given["model_path"], "rb") as file:
    assert file.read()
count = int(given["num_executions"])
print("I 00:00:00.000637 executorch:executor_runner.cpp:486] Using method",
      given.get("method_name", "the first"), file=sys.stderr)
sizes = [os.path.getsize(path) for path in filter(None, given.get("inputs", "").split(","))]
print("inputs", sizes)
def mischief():
MISCHIEF
mischief()
taken = bytearray(os.urandom(1)) * TAKES
time.sleep(0.05)
log = "I 00:00:01.474913 executorch:executor_runner.cpp:7]"
for number in range(count) if NEWER else ():
    print(f"{log} Iteration {number + 1} of {count}: {100 + 10 * number}.000000 ms")
print(f"{log} Model executed successfully {count} time(s) in {count * 120}.000000 ms.")
for number, size in enumerate(OUTPUTS if "output_file" in given else ()):
    with open(f"{given['output_file']}-{number}.bin", "wb") as file:
        file.write(bytes(size))
"""


def make_binary(
    path: Path,
    *,
    flags: tuple[str, ...] = FLAGS,
    takes: int = 60_000_000,
    outputs: tuple[int, ...] = (),
    newer: bool = True,
    mischief: str = "pass",
) -> Path:
    """Write one.

    Args:
        path: where.
        flags: that it has.
        takes: bytes of memory.
        outputs: bytes of each.
        newer: whether it logs each execution.
        mischief: Python that it runs first.

    """
    source = _SOURCE.lstrip().replace("PYTHON", sys.executable).replace("HAS", repr(flags))
    source = source.replace("IS_NEWER", repr(newer)).replace("TAKES", str(takes))
    source = source.replace("OUTPUTS", repr(outputs))
    path.write_text(source.replace("MISCHIEF", textwrap.indent(mischief, "    ")))
    path.chmod(0o755)
    return path
