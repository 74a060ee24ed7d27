"""The worker: one process, one measurement, inside a benchmarked environment.

It imports the standard library, torch, executorch and openai-whisper, and nothing of the
controller; what they share is JSON: a request file in, an events file out (one object a line).
``python -P -m et_worker REQUEST.json`` runs it.

Modules that need torch import it late or are imported late, so that the import phase is
measured and the pure parts can be tested where there is no torch. Sizes are bytes, times seconds.
"""
