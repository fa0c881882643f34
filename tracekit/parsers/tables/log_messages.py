"""Messages of the frameworks below Core ML and Core AI: the forms that are recognized.

Facts and where they are from:

* ``-----> <method>: ANEProgramProcessRequestDirect() status=0x<s> : statusType=0x<t> : qos=0x<q>``: one line
  per request, when it is done, in the client's process, at the level debug (public decompilations of
  AppleNeuralEngine, iOS 15 to 26). Public scripts count ``ANEProgramProcessRequestDirect() status=0x0``:
  4,420 lines for 13 regions and 340 evaluations of a Core AI model on macOS 27.
* ``ANEProgramProcessRequestDirect() Failed with status=0x16 : statusType=0x9: Program Inference error``: the
  error of a failed request, in other messages (AUTOMATIC1111/stable-diffusion-webui#13419), repeated by each
  layer that reports it. 0x12, 0x13, 0x16 and 0x1d have been seen.
* ``Unsupported op 12 (gather): Unsupported gather index type``: why Espresso's planner keeps an operator off
  the Neural Engine (anemll-profile reads such lines). Names may be ``<private>``.
* ``ANE model load has failed …`` (FluidInference/FluidAudio#121), ``ANECCompile() FAILED``
  (apple/coremltools#2758), ``ANECCompile(/path) FAILED: err=(`` (apple/coremltools#1548), ``exception=ANECF
  error:`` without more (apple/coremltools#1106), ``ANECF error: failed to load ANE model.
  Error=createProgramInstanceForModel:…: Program load failure (0x20004)`` (apple/ml-stable-diffusion#38): no
  program for the engine, and the runtime goes on without it.

* ``ANE_ProgramCreate_gated:, ZinComputeProgramMake``: the kernel's driver makes a program (dmesg, macOS 11,
  tinygrad); ``loading error: <_ANEErrors: 0x…>``: a program prints what ``_ANEClient`` returned.

A message of any other form is only counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from tracekit.frozen import frozen
from tracekit.model.composite_cells import PRIVATE
from tracekit.model.vocabulary import LOG_KINDS, SUBSYSTEMS, LogKind, Phase

NO_STATUS = -1
EVALUATION = "_ANEF_MODEL_EVALUATE"
"""The signpost around one evaluation by the Neural Engine's client (sbryngelson/ane-guide)."""
CLIENT_PHASES: Mapping[str, Phase] = MappingProxyType(
    {EVALUATION: Phase.WAIT, "_ANEF_MODEL_COMPILE": Phase.COMPILE, "_ANEF_MODEL_LOAD": Phase.LOAD}
)
"""What the time of an interval of the client is, by the name of its signpost."""

_STATUS = r"status=(?P<status>0[xX][0-9a-fA-F]{1,8}|\d{1,10})\b"
_CALL = r"(?:ANEProgramProcessRequestDirect\(\)|ANE_ProgramSendRequest(?::\d+)?)"
_FORMS = {
    LogKind.REQUEST: rf"ANEProgramProcessRequestDirect\(\) {_STATUS}",
    LogKind.FAILURE: rf"{_CALL}(?: Failed with)? {_STATUS}|(?P<also>ANE inference operation failed)",
    LogKind.UNSUPPORTED: r"Unsupported op (?:\d+|<private>) \((?P<operator>[^()]{1,200})\): "
    r"(?P<reason>.{1,500})"
    r'|Unsupported MIL operation "(?P<mil>[^"]{1,200})"',
    LogKind.NOT_LOADED: r"(?s)^.*(?P<load>Program load (?:new instance )?failure \(0x[0-9a-fA-F]{1,8}\))"
    r"|^.*(?P<compile>ANECCompile)\(.*?\) FAILED"
    r"|(?P<reason>ANE model load has failed|failed to compile ANE model|ANE compilation failed"
    r"|loading error: <_ANEErrors|ANECF error: failed to load ANE model|exception=ANECF error)",
    LogKind.LOADED: r"ANE_ProgramCreate_gated:, ?ZinComputeProgramMake",
}
"""Each is tried on the messages that no earlier form fits; RE2 runs them in linear time."""
_REASONS = {"ANECCompile": "ANECCompile() FAILED"}
_WITHOUT_CLAIM = (
    r"ANEProgramProcessRequestDirect\(\) for |\[CostModelFeature\]|BEGIN loadModel|END loadModel"
    r"|Loading function '|setPowerStateGated|ANE_ProgramCreate_gated:"
)
"""Forms that are understood, and show neither a request's end nor a refusal."""


class MessageForms:
    """The forms of distinct messages, one entry per message in each array.

    ``kind`` is a position in ``LOG_KINDS``, -1 for none; ``is_known`` also covers forms without evidence.
    ``is_private`` marks messages that the system withheld in part, and that therefore fit no form.
    """

    def __init__(self, messages: list[str]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pa.array(messages, pa.string())
        count = len(messages)
        self.kind: npt.NDArray[np.int8] = np.full(count, -1, np.int8)
        self.status: npt.NDArray[np.int64] = np.full(count, NO_STATUS, np.int64)
        self.operator: npt.NDArray[np.object_] = np.full(count, "", object)
        self.reason: npt.NDArray[np.object_] = np.full(count, "", object)
        for position, form in enumerate(_FORMS[kind] for kind in LOG_KINDS):
            found = pc.extract_regex(texts, form)
            rows = np.flatnonzero(pc.is_valid(found).to_numpy(zero_copy_only=False) & (self.kind < 0))
            self.kind[rows] = position
            self._take_parts(rows, found.take(pa.array(rows)))
        without_claim = pc.match_substring_regex(texts, _WITHOUT_CLAIM).to_numpy(zero_copy_only=False)
        self.is_known = (self.kind >= 0) | without_claim
        withheld = pc.match_substring(texts, PRIVATE).to_numpy(zero_copy_only=False)
        self.is_private = withheld & ~self.is_known

    def _take_parts(self, rows: npt.NDArray[np.int64], found: Any) -> None:
        import pyarrow.compute as pc

        for field in found.type:
            # A million messages have a few statuses: each is read once.
            parts = pc.struct_field(found, field.name).dictionary_encode()
            words, codes = parts.dictionary.to_pylist(), parts.indices.to_numpy()
            if field.name == "status":
                self.status[rows] = np.array([_parse_number(word) for word in words], np.int64)[codes]
            elif field.name in ("operator", "mil"):
                texts = np.array(words, object)[codes]
                self.operator[rows] = np.where(texts == "", self.operator[rows], texts)
            elif field.name in ("reason", "load", "compile"):
                # The reason excludes the path, which names the app.
                texts = np.array([word and _REASONS.get(word, word) for word in words], object)[codes]
                self.reason[rows] = np.where(texts == "", self.reason[rows], texts)


@frozen
class MessageForm:
    """The form of one message; see ``MessageForms``."""

    kind: LogKind | None
    status: int
    operator: str
    reason: str


@lru_cache(maxsize=512)
def match_message(message: str) -> MessageForm:
    """Return the form of a message, for those that come one at a time: most of them are repeated."""
    forms = MessageForms([message])
    kind = int(forms.kind[0])
    return MessageForm(
        LOG_KINDS[kind] if kind >= 0 else None,
        int(forms.status[0]),
        str(forms.operator[0]),
        str(forms.reason[0]),
    )


def find_client_phase(subsystem: str, name: str) -> Phase | None:
    """Return what the time of an interval is; None for one that is not the client's."""
    return CLIENT_PHASES.get(name) if subsystem.lower() in SUBSYSTEMS else None


def _parse_number(text: str) -> int:
    if not text:
        return NO_STATUS
    return int(text, 16) if text[:2].lower() == "0x" else int(text)
