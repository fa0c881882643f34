"""A stand-in for xctrace and the tools around it, for tests on machines without Xcode.

It keeps the contract of the real program as far as public sources tell it. Where a message or an exit code
has a known source, the source stands beside it; everything else is marked "wording is ours".
"""
