"""Explanations of the names that outputs print: findings, issues, rules, columns, exit codes and others.

Each text stands once: in ``docs/findings.md``, or in the declaration of the thing. The documentation is made
from the same texts.
"""
