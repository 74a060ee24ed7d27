"""Measurements on several processes or machines, through Hydra's launchers.

``units`` (pure) says what stays together and what may run side by side; ``launchers`` finds and
drives the launcher that ``hydra/launcher=`` names; ``node`` is what runs on a node; ``fleet`` hands
units out, merges what comes back, and hands out again what was lost.
"""
