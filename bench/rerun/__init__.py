"""Measure a recorded row again, in the environment that it was measured in."""
