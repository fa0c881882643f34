"""The document around a bundle's runs: `form.template`, and the small files that list its content."""

from __future__ import annotations

import plistlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sample_generator.bundle_images import kernel_signature, process_signature
from sample_generator.keyed_archive import NULL, Boxed, Mutable, Object, archive, archive_top, int_keyed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sample_generator.bundle_images import Image, Loaded
    from sample_generator.bundle_tables import Table
    from sample_generator.bundle_values import Process, Thread

EFFICIENCY, PERFORMANCE = 1, 2
"""Flags of a cluster of cores."""

_TARGET_TYPES = {"all": 0, "launched": 1, "attached": 2}
_UNSUPPORTED_TYPE = "This version does not support the new engineering type '{}'."
_UNSUPPORTED_TOPOLOGY = "The stored data contains storage topology not yet implemented by this version."
_COMPRESSED = "The data is compressed and requires Instruments 9.3 or later to read it."
_NEWER = "This document was saved by a newer version of Instruments."


@dataclass(frozen=True)
class RunInfo:
    """The facts about a recording as a whole; `more` overrides any field of XRRunInfo by Apple's name."""

    instruments: str = "26.0 (17C529)"
    template: str = "Time Profiler"
    start: float = 1_767_268_800.0
    duration: float = 1.0
    end_reason: str = "Target app exited"
    recording_mode: str = "Deferred"
    time_limit: str = "12 hours"
    target: str = "launched"
    process: str | None = None
    pid: int | None = None
    arguments: str | None = ""
    environment: dict[str, str] = field(default_factory=dict)
    exit_status: str | None = "0"
    device: str = "Synthetic Mac"
    device_uuid: str = "00000000-0000-3000-A000-000000000001"
    model: str = "MacBook Pro"
    platform: str = "macOS"
    os_version: str = "15.5 (24F74)"
    cores: tuple[int, ...] = (EFFICIENCY,) * 4 + (PERFORMANCE,) * 8
    mach_start: int = 1_000_000_000
    timebase: tuple[int, int] = (125, 3)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def os_numbers(self) -> tuple[str, str]:
        """Version and build of the system."""
        version, _, build = self.os_version.partition(" ")
        return version, build.strip("()")


@dataclass(frozen=True)
class SharedCache:
    """A shared cache; the key of an image is its offset in the cache, and processes list these keys."""

    uuid: UUID
    images: dict[int, Loaded]


@dataclass(frozen=True)
class AddressSpace:
    """The images of a process, or None if the recording has no list of them."""

    process: Process
    loaded: tuple[Loaded, ...] | None
    cache: SharedCache | None = None
    cache_base: int = 0
    cache_keys: frozenset[int] = frozenset()

    def signature(self) -> bytes | None:
        if self.loaded is None:
            return None
        if self.cache is None:
            return process_signature(self.process.pid, self.loaded)
        return process_signature(self.process.pid, self.loaded, self.cache.uuid, self.cache_base)


@dataclass(frozen=True)
class RunDocument:
    """The content of `form.template` for one run."""

    number: int
    info: RunInfo
    processes: tuple[Process, ...]
    threads: tuple[Thread, ...]
    address_spaces: tuple[AddressSpace, ...]
    kernel: tuple[Loaded, ...]


# form.template --------------------------------------------------------------------------------------------


def form_template(runs: list[RunDocument], symbols: bool = True) -> bytes:
    """Return the document; without symbols it has no lists of images."""
    next_number = max((run.number for run in runs), default=0) + 1
    data: dict[Any, Any] = {run.number: Mutable(_run(run)) for run in reversed(runs)}
    # The list's own entry is among the runs, under a name instead of a number.
    data["XRRunListAllRunsDataKey"] = Mutable({"XRNextRunNumberKey": next_number})
    run_list = {
        "$0": Mutable([run.number for run in runs]),
        "$1": Mutable(data),
        "$2": Boxed(next_number),
    }
    top = {
        "com.apple.xray.owner.template.version": 2.1,
        "com.apple.xray.owner.template.iconURL": "rsrc://Template - samplertemplate",
        "com.apple.xray.owner.template.description": Mutable("Synthetic: written by a program."),
        "$0": Boxed(0),
        "stubInfoByUUID": Mutable({}),
        "com.apple.xray.run.data": Object("XRRunListData", run_list),
    }
    return archive_top({**top, **(_symbol_stores(runs) if symbols else {})})


def _run(run: RunDocument) -> dict[str, Any]:
    info = run.info
    version, build = info.os_numbers
    mach_time = [
        info.mach_start,
        *info.timebase,
        info.mach_start,
        info.start,
        "Etc/UTC",
    ]
    return {
        "runInfo": _run_info(info),
        "startTime": int(info.start * 1e9),
        "runningTime": int(info.duration * 1e9),
        "mach_time_info": Mutable({info.device_uuid: mach_time}),
        "numberOfCpus": len(info.cores),
        "osVersion": Mutable(
            {"ProductName": info.platform, "ProductVersion": version, "ProductBuildVersion": build}
        ),
        "targetDevice": Mutable(_device(info)),
        "deviceProperties": {"HWPageSize": 16384, "VMPageSize": 16384},
        "recordingOptions": _recording_options(info),
        "allObjects": Mutable(_cores(info)),
        "processDatas": Mutable([Mutable(_process(process)) for process in run.processes]),
        "threadsByTID": int_keyed({thread.tid: _thread(thread) for thread in run.threads}),
        "kDebugCodeSet": int_keyed({}),
        "target": Mutable(_target(info)),
    }


def _run_info(info: RunInfo) -> Object:
    end = info.start + info.duration
    pid = None if info.pid is None else str(info.pid)
    absent = "importedFrom importedFileRecordingPlanJSON importedFileCreationCommand"
    absent += "".join(
        f" {machine}{what}"
        for machine in ("host", "paired")
        for what in ("UUID", "Name", "Platform", "Model", "OperatingSystem")
    )
    fields = {f"_{name}": None for name in absent.split()} | {
        "_targetTerminationInformation": None,
        "_targetOperatingSystem": info.os_version,
        "_targetExitStatus": info.exit_status,
        "_rawDuration": info.duration,
        "_targetName": info.device,
        "_rawEndTime": end,
        "_targetProcessName": info.process,
        "_recordingSettings": {},
        "_targetModel": info.model,
        "_targetPlatform": info.platform,
        "_arguments": info.arguments,
        "_rawStartTime": info.start,
        "_endReason": info.end_reason,
        "_rawWindowStartTime": info.start,
        "_targetProcessPid": pid,
        "_recordingMode": info.recording_mode,
        "_timeLimit": Mutable(info.time_limit),
        "targetType": _TARGET_TYPES[info.target],
        "_targetUUID": info.device_uuid,
        "_instrumentVersion": info.instruments,
        "_templateName": info.template,
        "_environment": info.environment,
    }
    return Object("XRRunInfo", fields | info.more)


def _device(info: RunInfo) -> dict[str, Any]:
    version, build = info.os_numbers
    return {
        "_xrdeviceClassName": "XRLocalDevice",
        "_deviceIdentifier": info.device_uuid,
        "_deviceDisplayName": info.device,
        "_rawDeviceDisplayName": info.device,
        "_deviceVersion": build,
        "_productVersion": version,
        "_modelName": info.model,
        "_hardwareInfo": {"numberOfCpus": len(info.cores), "numberOfPhysicalCpus": len(info.cores)},
    }


def _recording_options(info: RunInfo) -> Object:
    fields = {
        "windowLimit": 0,
        "timeLimit": 43_200_000_000_000,
        "supportsWindowedMode": True,
        "supportsImmediateMode": True,
        "recordingMode": 2 if info.recording_mode == "Deferred" else 1,
        "supportsDeferredMode": True,
    }
    return Object("XRRecordingOptions", fields)


def _cores(info: RunInfo) -> list[Object]:
    """Return the cores; neighbours of the same kind form a cluster."""
    cores, cluster = [], -1
    for number, flags in enumerate(info.cores):
        cluster += number == 0 or flags != info.cores[number - 1]
        topology = Object("DTCPUClusterInfo", {"_clusterID": cluster, "_clusterFlags": flags})
        core = {"isPhysical": False, "$1": info.device_uuid, "topology": topology, "$0": number}
        cores.append(Object("XRCore", core))
    return cores


def _process(process: Process) -> dict[str, Any]:
    return {
        "displayName": process.name,
        "_execname": process.path or process.name,
        "_pid": process.pid,
        "processID": process.pid,
        "specifiedType": 0,
    }


def _thread(thread: Thread) -> Object:
    """Return a thread under the name that Instruments shows: Main Thread, its own name, or its process's."""
    shown = "Main Thread" if thread.main else thread.name or thread.process.name
    fields = {"pid": thread.process.pid, "tid": thread.tid, "preferredName": shown, "coreValueSignature": 0}
    return Object("XRThread", fields)


def _target(info: RunInfo) -> dict[str, Any]:
    return {"displayName": info.process, "_pid": info.pid, "_args": info.arguments, "specifiedType": 0}


# Images ---------------------------------------------------------------------------------------------------


def _symbol_stores(runs: list[RunDocument]) -> dict[str, Any]:
    caches = {space.cache.uuid: space for run in runs for space in run.address_spaces if space.cache}
    prefix = "com.apple.xray.symbolstore"
    return {
        f"{prefix}manager.symbolstores": Mutable(
            {
                run.number: Mutable(
                    {
                        f"{run.info.device_uuid}.{space.process.pid}": _persistent_symbols(space)
                        for space in run.address_spaces
                    }
                )
                for run in runs
            }
        ),
        f"{prefix}.sharedcache.signatures": Mutable(
            {uuid: Mutable(_cache_signatures(space)) for uuid, space in caches.items()}
        ),
        f"{prefix}.kern.signatures": Mutable(
            {run.number: Mutable(kernel_signature(run.kernel)) for run in runs if run.kernel}
        ),
    }


def _cache_signatures(space: AddressSpace) -> dict[int, Mutable]:
    """Return a signature of one image each, its segments relative to the cache."""
    if space.cache is None:
        return {}
    uuid, base = space.cache.uuid, space.cache_base
    return {
        key: Mutable(process_signature(space.process.pid, (loaded,), uuid, base))
        for key, loaded in space.cache.images.items()
    }


def _persistent_symbols(space: AddressSpace) -> Object:
    signature = space.signature()
    fields: dict[str, Any] = {
        "$0": Boxed(10),
        "$1": Mutable([]),
        "$2": space.process.path or space.process.name,
        "$3": None,
        "timeline-type": "mach-absolute",
        "dsc_load_addresses": Mutable(set(space.cache_keys)),
    }
    if signature is not None:
        fields["com.apple.xray.symbolstore.signature"] = Mutable(signature)
    return Object("PFTPersistentSymbols", fields)


# Lists ----------------------------------------------------------------------------------------------------


def tables_plist(run: int, tables: list[Table]) -> bytes:
    """Return the list of stores, each once for its reading and once for its writing side."""
    details = [
        {"storeSubpath": f"run{run}/core/stores/indexed-store-{index}", "side": side, "spec": table.spec()}
        for side in (0, 1)
        for index, table in enumerate(tables)
    ]
    return archive(
        {
            "lastStoreIdx": len(tables),
            "nextTableID": len(details),
            "tableDetails": int_keyed(dict(enumerate(details))),
        }
    )


def exposed_table_info(info: RunInfo, tables: list[Table], settings: dict[str, Any]) -> bytes:
    """Return the recording settings; `settings` overrides what follows from the run's information."""
    version = [int(part) for part in info.os_numbers[0].split(".")] + [0, 0]
    system = f"{'ios' if info.platform == 'iOS' else 'osx'}-version"
    parameters = {
        system: version[0] * 10000 + version[1] * 100 + version[2],
        "timebase-numerator": info.timebase[0],
        "timebase-denominator": info.timebase[1],
        "logical-cpu-count": len(info.cores),
        "physical-cpu-count": len(info.cores),
        "pmcEvents": NULL,
        "pmcEventsWithFormulas": NULL,
        "pmiEvent": NULL,
        "pmiThreshold": NULL,
        "contextSwitchSampling": False,
        "recordWaitingThreads": False,
        "windowed-recording": info.recording_mode.startswith("Windowed"),
    }
    return archive(
        Mutable(
            {
                "biproductTableIDs": Mutable(set()),
                "inputTableIDs": Mutable(set(range(len(tables), 2 * len(tables)))),
                "readOnlySpecsByID": int_keyed({index: table.spec() for index, table in enumerate(tables)}),
                "bindingParameters": parameters | settings,
                "modelingParameters": {} if info.pid is None else {"target-pid": info.pid},
            }
        )
    )


def open_creq(tables: Iterable[Table], tags: dict[str, str]) -> bytes:
    """Return the requirements for a reader, which name each engineering type as exports do."""
    tables = list(tables)
    types = sorted({column.type for table in tables for column in table.columns} & tags.keys())
    required = {
        **{f"com.apple.dt.ac.topology.{table.topology}": [1, _UNSUPPORTED_TOPOLOGY] for table in tables},
        **{f"com.apple.dt.etype.{kind}": [1, _UNSUPPORTED_TYPE.format(tags[kind])] for kind in types},
        "com.apple.dt.path-manager.compression": [1, _COMPRESSED],
        "com.apple.dt.trace": [5, _NEWER],
    }
    return plistlib.dumps(required)


def manifest(paths: list[str], compressed: bool) -> bytes:
    return plistlib.dumps({"paths": paths, "compressed-paths": paths if compressed else []})


def images_of(runs: list[RunDocument]) -> dict[UUID, Image]:
    """Return every image that is loaded in any run."""
    spaces = [space for run in runs for space in run.address_spaces]
    loaded = [image for run in runs for image in run.kernel]
    loaded += [image for space in spaces for image in space.loaded or ()]
    loaded += [image for space in spaces if space.cache for image in space.cache.images.values()]
    return {entry.image.uuid: entry.image for entry in loaded}
