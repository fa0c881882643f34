"""Probes: models that ask a device one question each, and the recording of their calls as the answer.

A probe is a *sandwich*: two convolutions, the operation in question, two convolutions. Beside it runs a
*control*, the convolutions alone. Where the control runs on the Neural Engine and the probe does not, or not
in one piece, the operation is what differs. A recording answers for its device, system and setting only.
"""
