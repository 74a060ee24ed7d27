"""Tests of the environments: their recipes, their building, their store."""
