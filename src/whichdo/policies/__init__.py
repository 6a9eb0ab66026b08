"""Policies: one file an algorithm, found by name.

A new file in this folder whose class is decorated with ``@register("name")`` is all that a new policy takes.  Policies
of other packages and files are found too (`whichdo.policy_names`).
"""
