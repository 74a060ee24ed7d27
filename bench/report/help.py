"""The text of ``nox -s bench -- --help``, made from ``conf/`` so that it can't be out of date."""

from __future__ import annotations

import re
from pathlib import Path

from omegaconf import OmegaConf

from bench.compose import GROUPS, compose_one, group_choices

_HEAD = """\
Measure a matrix of ExecuTorch exports and executions, each in a fresh process.

    nox -s bench -- model=small precision=bf16
    nox -s bench -- model=tiny,base precision=fp32,int8 commit=v1.4.1,v1.5.1
    nox -s bench -- backend=mlx method=export precision=bf16,int8
    nox -s bench -- pte=whisper_small.pte runtime=v1.4.1,v1.5.1
    nox -s bench -- model=script script=my_model.py backend=xnnpack
    nox -s bench -- +experiment=symbolic_dim repo=~/src/executorch
    nox -s bench -- model=tiny,base hydra/launcher=joblib timing=off    (docs/machines.md)
    nox -s bench -- resume=latest

Flags: --help, --dry-run (the cells, their order, the environments, an estimate),
       --cfg job (the composed configuration). None of them builds or measures anything.

Groups (key=value; a comma list sweeps; model.field=value changes one field):"""
_TAIL = """\
Exit codes of `python -m bench`: 0 done, 2 wrong request, 3 nothing could be measured,
130 interrupted (go on with resume=<id>). Through nox any of the last three is 1."""


def text(conf: Path) -> str:
    """Return the help text: groups with their choices, values with defaults and meaning."""
    base = compose_one([], conf)
    lines = [_HEAD]
    for group in GROUPS:
        default = base.hydra.sweeper.params.get(group) or base[group].name
        lines.append(f"  {group:<11} {', '.join(group_choices(group, conf))}  [{default}]")
    lines += ["", "Values:"]
    pattern = re.compile(r"^(\w+): (.*?)\s+#\s*(.*)$")
    for line in (conf / "config.yaml").read_text().splitlines():
        if match := pattern.match(line):
            name, default, meaning = match.groups()
            bare = default.strip('[]"').replace(", ", ",")
            shown = "" if default == "null" else f"  [{bare}]"
            lines.append(f"  {name:<11} {meaning}{shown}")
    lines += ["", "Experiments (+experiment=NAME: two arms in turn, and one sentence):"]
    for path in sorted((conf / "experiment").glob("*.yaml")):
        lines.append(f"  {path.stem:<15} {OmegaConf.load(path).question}")
    return "\n".join([*lines, "", _TAIL])
