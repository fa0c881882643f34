"""The kind of values of each engineering type, for every reader.

An *engineering type* is Apple's name for a column's type: the ``engineering-type`` of a schema and the tag of
its cells in an export. The list is from real exports of Xcode 14 to 27 (docs/formats.md lists them). A type
that is not listed takes its kind from its cells, so that tables of a future Xcode are read as well.
"""

from __future__ import annotations

from tracekit.model.tables import ColumnKind

_TEXT = """ane-event-name category coreml-model-event coreml-model-level coreml-model-name core-state
device-session display-event-name display-name domain-name event-concept event-type file-path format-string
gpu-channel-name gpu-state hang-type medium-length-string metal-device-name metal-object-label mps-event-name
narrative-text network-interface network-protocol path process-name short-string signpost-name size-in-pixels
string subsystem swiftui-update syscall thermal-state thread-name thread-state vsync-event word-string"""
_INT = """address boolean cfrunloop-result connection-uuid64 containment-level core cycle-weight
displayed-surface-swap duration duration-on-core duration-waiting eight-byte-array event-count event-time fd
gpu-frame-number kdebug-func layout-id mach-o-vm-offset mach-port metal-command-buffer-id metal-nesting-level
metal-workload-priority network-size-in-bytes os-signpost-identifier packed-identifier pid pmc-event
render-buffer-depth sample-time sched-priority size-in-bytes start-time swift-task-id syscall-arg
syscall-return tid time-sample-kind uint32 uint64 uint64-hex-lowercase vnode weight"""
_PARTS = """analysis-core-swift-task cause-set description-set formatted-label identified-view narrative
os-log-metadata return-location swift-actor swift-task text-symbol typed-array uuid view-hierarchy"""
_INTS = "pmc-events sockaddr text-addresses uint64-array"
_STACK = "backtrace kperf-bt tagged-backtrace text-backtrace"

STACK_TYPES = frozenset(_STACK.split())

KIND_OF_TYPE: dict[str, ColumnKind] = {
    **dict.fromkeys(_TEXT.split(), "text"),
    **dict.fromkeys(_INT.split(), "int"),
    **dict.fromkeys(_PARTS.split(), "parts"),
    **dict.fromkeys(_INTS.split(), "ints"),
    **dict.fromkeys(_STACK.split(), "stack"),
    "fixed-decimal": "float",
    "percent": "float",
    "thread": "thread",
    "process": "process",
}
