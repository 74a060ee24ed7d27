"""et-peak: measure what ExecuTorch export and execution take, in fresh processes.

This package is the *controller*: it plans cells, prepares environments, watches
worker processes and stores what they report. Nothing here imports torch or
executorch; that happens only inside :mod:`et_worker` (``bench/worker``), which
runs in the benchmarked environment and shares nothing with us but JSON.
"""

import sys

if sys.argv[:1] == ["-m"]:  # Python is still looking for the command of `python -m bench...`
    from bench import start

    start.end_quietly()
