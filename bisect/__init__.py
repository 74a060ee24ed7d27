"""``python -m bisect``: the commit that changed a measurement; and the standard module.

This package has the name of the standard library's :mod:`bisect` and hides it from
everything that starts in the repository root (``random`` and ``statistics`` import
it). It therefore gives all the standard module gives, the very same objects, and
nothing here may import anything heavy: the rest of the package is imported only by
``python -m bisect``. CONTRIBUTING.md says how tests import ``bisect.search``.
"""

try:
    from _bisect import bisect_left, bisect_right, insort_left, insort_right
except ImportError:  # an interpreter without the accelerator: the standard module's own source
    import sysconfig as _sysconfig
    from importlib.machinery import SourceFileLoader as _SourceFileLoader
    from types import ModuleType as _ModuleType

    _standard = _ModuleType("_standard_bisect")
    _SourceFileLoader("_standard_bisect", _sysconfig.get_path("stdlib") + "/bisect.py").exec_module(
        _standard
    )
    bisect_left, bisect_right = _standard.bisect_left, _standard.bisect_right
    insort_left, insort_right = _standard.insort_left, _standard.insort_right

# The accelerator lacks these two; the standard module adds them in just this way.
bisect = bisect_right
insort = insort_right
