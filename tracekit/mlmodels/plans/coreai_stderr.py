"""Standard error of a specialization (Core AI, Core ML's E5): refusals among megabytes of warnings.

The messages are printed once, at the first specialization; later ones take the result from the cache in
silence. Lines are read in pieces, because a warning can hold a whole program. Shapes of messages:
apple/coreai-models issues #138 and #205, MLIR's printed locations
(https://mlir.llvm.org/docs/Dialects/Builtin/#location-attributes); **no whole output was at hand**, so a
message is taken wherever it stands, with the first source line that its line has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TypeVar

from tracekit.mlmodels.plans.places import find_core_ai_place
from tracekit.mlmodels.plans.plan import Plan, PlanMessage, PlannedFunction, PlannedOperation
from tracekit.mlmodels.plans.plan_file import PlanFile
from tracekit.mlmodels.protobuf_wire import DamagedModelError

FORM = "specialization output"

_Key = TypeVar("_Key", str, "tuple[str, str, str]")

_OVERLAP_BYTES = 4_096
"""What is looked at again where a line is cut into pieces: no message is longer."""
_MAX_DISTINCT = 200_000
_MAX_BLOCK_LINES, _MAX_ERRORS = 60, 20

_MARK = re.compile(
    rb"ane_validation_message|ANECCompile|ANE I/O op|Compiler internal error: |^warning: loc\(|^loc\("
    rb"|incompatibleCompiledAssetArchitecture|MILCompilerForANE|ANE model load has failed",
    re.MULTILINE,
)
_HINTS = (b"ANE", b"ane_", b"internal error", b"incompatibleCompiled", b"coreai-cache", b"E5RT")
"""Each message has one of these, and few other lines have: searching for them is fast."""
_REFUSAL = re.compile(
    rb'"ane_validation_message"\("(?P<message>(?:[^"\\\n]|\\.){1,2000})"'
    rb'|(?<!\(\) )failed: (?P<reason>[^\n"<>]{1,500})'
)
_ANE = re.compile(rb"\bANE\b")
_SOURCE = re.compile(
    rb'"(?P<quoted>[^"\n]{1,500})":(?P<quoted_line>\d{1,7})(?::\d|\b)|^(?P<plain>[^\s:"]{1,500}\.\w{1,6}):(?P<plain_line>\d{1,7}):\d'
)
_PSEUDO_FILE = b"op_id"
"""The file of a location that only holds the number of an operation."""
_NAME = re.compile(rb'string<"(?P<name>[A-Za-z_]\w{0,200})"')
_FAILURE = re.compile(
    rb"Compiler internal error: [^\n\"]{1,300}"
    rb"|(?:_ANECompiler : )?ANECCompile\(\) FAILED"
    rb"|incompatibleCompiledAssetArchitecture\([^)\n]{1,200}\)"
    rb"|ANE model load has failed[^\n]{0,200}"
    rb"|full compile with ANE as preferred device failed|ANE compilation failed"
)
_OFFLINE = re.compile(rb"ANECCompileOffline\(\) failed: [^\n{]{0,200}")
_BLOCK_FILE = re.compile(rb'CompiledInputSourceFileName = "(?:[^"\n]{0,1000}/)?(?P<file>[^"/\n]{1,300})"')
_ERROR_LIST = re.compile(rb"ErrorList\s*=\s*\((?P<items>[^)\n]{0,500})(?P<end>\))?")
_DEVICE = re.compile(rb'device: "(\w{1,20})"')
_CACHE = re.compile(rb"/coreai-cache/[^\s\"]{1,600}")
_CORE_ML = re.compile(rb"E5RT|MILCompilerForANE")


def recognises(file: PlanFile) -> bool:
    """Return True for a text that has such messages, or MLIR's warnings, near its beginning."""
    return b"\0" not in file.head[:4096] and _MARK.search(file.head) is not None


def read(file: PlanFile) -> Plan:
    """Read the messages, equal ones once with their count."""
    messages = _Messages()
    remainder = b""
    for piece in file.iter_lines():
        is_end = piece.endswith(b"\n")
        messages.add(remainder + piece, len(remainder), is_end)
        remainder = b"" if is_end else piece[-_OVERLAP_BYTES:]
    messages.finish()
    operations = [
        PlannedOperation("", name, messages=(PlanMessage(text, "ane", count),), source=source)
        for (name, source, text), count in messages.refusals.items()
    ]
    os_build, model = find_core_ai_place(PurePosixPath(messages.cache))
    return Plan(
        file.path,
        FORM,
        "Core ML" if messages.is_core_ml and not messages.is_core_ai else "Core AI",
        (PlannedFunction("", tuple(operations), unlisted=None),) if operations else (),
        chip=messages.chip,
        os_build=os_build,
        model=model,
        messages=tuple(
            PlanMessage(text, "ane" if "ANE" in text else "", count)
            for text, count in messages.failures.items()
        ),
        limits=tuple(_list_limits(messages)),
    )


def _list_limits(messages: _Messages) -> Iterator[str]:
    if messages.refusals or messages.failures:
        yield "The text names what was refused; it does not list other operations, nor where any will run."
    else:
        yield (
            "The text has no message about the Neural Engine. That shows nothing: messages are printed at the"
            " first specialization alone, and later ones take its result from the cache."
        )


class _Messages:
    """The messages of a text that is read piece by piece, and what the current line has of them."""

    def __init__(self) -> None:
        self.refusals: Counter[tuple[str, str, str]] = Counter()
        """By name of the operation, source line and text."""
        self.failures: Counter[str] = Counter()
        self.chip = self.cache = ""
        self.is_core_ml = self.is_core_ai = False
        self._line: list[str] = []
        self._source = self._name = ""
        self._block: _CompilerBlock | None = None

    def add(self, piece: bytes, seen: int, is_end: bool) -> None:
        """Take a piece of a line, whose first ``seen`` bytes were looked at before."""
        if self._block is not None:
            self._block.add(piece)
            if self._block.is_complete:
                self._end_block()
        has_hint = any(hint in piece for hint in _HINTS)
        if has_hint or seen or not is_end:  # the message of a line may be in a later piece
            self._source = self._source or _find_source(piece)
            name = None if self._name else _NAME.search(piece)
            self._name = _decode(name["name"]) if name else self._name
        if has_hint:
            self._add_messages(piece, seen)
        if is_end:
            self._end_line()

    def _add_messages(self, piece: bytes, seen: int) -> None:
        for match in _REFUSAL.finditer(piece):
            is_about_ane = match["reason"] is None or _ANE.search(match["reason"]) is not None
            if is_about_ane and match.end() > seen and len(self._line) < _MAX_DISTINCT:
                self._line.append(_decode(match["message"] or match["reason"]))
        for match in _FAILURE.finditer(piece):
            if match.end() > seen:
                self._count(self.failures, _decode(match[0]))
                device = _DEVICE.search(match[0])
                self.chip = _decode(device[1]) if device else self.chip
        if offline := _OFFLINE.search(piece):
            self._end_block()
            self._block = _CompilerBlock(offline[0])
        if not self.cache and (cache := _CACHE.search(piece)):
            self.cache = _decode(cache[0])
        self.is_core_ml = self.is_core_ml or _CORE_ML.search(piece) is not None
        self.is_core_ai = self.is_core_ai or b"ane_validation_message" in piece or bool(offline or self.cache)

    def finish(self) -> None:
        """Take what the end of the text leaves open."""
        self._end_line()
        self._end_block()

    def _end_line(self) -> None:
        for text in self._line:
            self._count(self.refusals, (self._name, self._source, text))
        self._line = []
        self._source = self._name = ""

    def _end_block(self) -> None:
        if self._block is not None:
            self._count(self.failures, self._block.describe())
        self._block = None

    def _count(self, counts: Counter[_Key], key: _Key) -> None:
        counts[key] += 1
        if len(counts) > _MAX_DISTINCT:
            raise DamagedModelError(f"holds more than {_MAX_DISTINCT:,} different messages")


class _CompilerBlock:
    """A failure of the compiler with the lines behind it: the file of the region, and the list of errors."""

    def __init__(self, beginning: bytes) -> None:
        self._beginning = _decode(beginning).rstrip(" ,=").removesuffix("statusdict").rstrip(" ,")
        self._file = ""
        self._errors: list[str] = []
        self._has_list = self._is_in_list = False
        self._lines = 0
        self.is_complete = False

    def add(self, line: bytes) -> None:
        """Take the next line."""
        self._lines += 1
        text = _decode(line[:1000]).strip(" \t\r\n,;")
        if self._is_in_list:
            self._is_in_list = text != ")"
            if self._is_in_list and len(self._errors) < _MAX_ERRORS:
                self._errors.append(text)
        elif errors := _ERROR_LIST.search(line):
            self._has_list = True
            self._is_in_list = errors["end"] is None
            self._errors += filter(None, [_decode(errors["items"])])
        elif file := _BLOCK_FILE.search(line):
            self._file = _decode(file["file"])
        self.is_complete = text.startswith("}") or self._lines >= _MAX_BLOCK_LINES

    def describe(self) -> str:
        """Return the failure in the text's own words, on one line."""
        parts = [self._beginning]
        if self._file:
            parts.append(f'CompiledInputSourceFileName = "{self._file}"')
        if self._has_list:
            parts.append(f"ErrorList = ({', '.join(self._errors)})")
        return ", ".join(parts)


def _find_source(piece: bytes) -> str:
    """Return the first source line of a piece, without the folders of its path: ``model.py:290``."""
    for match in _SOURCE.finditer(piece):
        path, line = match["quoted"] or match["plain"], match["quoted_line"] or match["plain_line"]
        if path != _PSEUDO_FILE:
            return f"{_decode(path.rpartition(b'/')[2])}:{int(line)}"
    return ""


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace").strip()
