"""A fake xctrace, with the tools around it, for tests on machines without Xcode.

It keeps the contract of the real program as far as public sources document it. A message or exit code with a
known source names it in a comment; everything else is marked "invented wording".
"""
