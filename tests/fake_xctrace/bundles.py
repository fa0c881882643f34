"""The trace on disk: growing while it is recorded, unfinished when the recorder dies, or saved.

Modules that few recordings need are imported where they are used: these programs start thousands of times.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import zlib
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
EXPORTS = "fake-xctrace-exports"
"""A folder that real bundles do not have: the documents that `export` writes, one folder a run."""
TEMPLATE = "form.template"
"""The mark of a finished bundle; it is written last (trace_bundle reference: 'not finalised' without it)."""


class Growing:
    """The raw data of a running recording, as in an unfinished bundle."""

    def __init__(self, bundle: Path) -> None:
        self.bundle = bundle
        self.run = 1 + max(map(_number, bundle.glob("Trace*.run")), default=0)
        self._attachments = bundle / f"Trace{self.run}.run" / "Attachments"
        self._attachments.mkdir(parents=True)
        self.grow()

    def grow(self) -> None:
        with (self._attachments / "trace-data.atrc").open("ab") as stream:
            stream.write(b"\0" * 4096)

    def finish(self, recording: str, disk_is_full: bool, without_rows: bool) -> None:
        """Save; raises OSError, and leaves a part, if the disk is full."""
        files = _empty() if without_rows else _files_of(_find(recording))
        exports = {name: content for name, content in files.items() if name.startswith(EXPORTS)}
        if self.run > 1 and (self.bundle / "corespace").is_dir():
            exports |= _another_run(self.bundle, self.run)
        contents = exports if self.run > 1 else files
        names = sorted(contents, key=lambda name: (name == TEMPLATE, name))
        for written, name in enumerate(names):
            if disk_is_full and written >= len(names) // 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.bundle))
            path = self.bundle / re.sub(rf"^{EXPORTS}/run1/", f"{EXPORTS}/run{self.run}/", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents[name])
        shutil.rmtree(self._attachments)


def _number(folder: Path) -> int:
    return int("".join(filter(str.isdecimal, folder.name)) or 0)


def _find(recording: str) -> Path:
    path = Path(recording)
    return path if path.is_absolute() else SAMPLES / recording


def _files_of(source: Path) -> dict[str, bytes]:
    """Return the files of a bundle from a sample, a `.trace`, a zip of one, or a folder of exports."""
    if source.suffix == ".zip":
        return _unzipped(source)
    if source.suffix == ".trace":
        return _folder(source)
    if (source / "recording.trace").is_dir():
        exports = source.with_name(source.name.removesuffix("-bundle"))
        documents = _exports(exports) if (exports / "toc.xml").is_file() else {}
        return _folder(source / "recording.trace") | documents
    if not (source / "toc.xml").is_file():
        raise FileNotFoundError(f"fake xctrace: no recording in {source}")
    return {TEMPLATE: b"no template: the fake xctrace made this bundle from exports\n", **_exports(source)}


def _folder(folder: Path, prefix: str = "") -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {prefix + path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _exports(folder: Path) -> dict[str, bytes]:
    return {f"{EXPORTS}/run1/{path.name}": path.read_bytes() for path in folder.glob("*.xml")}


def _unzipped(path: Path) -> dict[str, bytes]:
    import zipfile

    with zipfile.ZipFile(path) as archive:
        names = [
            name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")
        ]
        (top,) = {name.partition(".trace/")[0] + ".trace/" for name in names if ".trace/" in name}
        return {name.removeprefix(top): archive.read(name) for name in names if name.startswith(top)}


REFUSED = "Failed to start the recording: Could not set the recording priority."  # public source


def _empty() -> dict[str, bytes]:
    """Return a bundle whose tables have no rows, as in a sandboxed shell (public source).

    That its list of problems has the message is inferred: xctrace calls what it prints there a run issue.
    """
    sys.path.insert(0, str(SAMPLES.parent))
    from sample_generator.bundle_schemas import CPU_PROFILE, TIME_PROFILE
    from sample_generator.bundle_writer import BundleWriter, Issue

    bundle = BundleWriter()
    run = bundle.run()
    run.issues.append(Issue(REFUSED))
    tables = {"time-profile": TIME_PROFILE, "cpu-profile": CPU_PROFILE}
    for schema, columns in tables.items():
        run.table(schema, columns, [], attributes={"target-pid": "SINGLE"})
    listed = "".join(f'            <table schema="{schema}" target-pid="SINGLE"/>\n' for schema in tables)
    toc = (
        '<?xml version="1.0"?>\n\n<trace-toc>\n    <run number="1">\n        <data>\n'
        f"{listed}        </data>\n    </run>\n</trace-toc>\n"
    )
    return {**bundle.files(), f"{EXPORTS}/run1/toc.xml": toc.encode()}


# A second run of a native bundle ---------------------------------------------------------------------------


def _another_run(bundle: Path, number: int) -> dict[str, bytes]:
    """Return the files that make a copy of the first run the newest: its own, and the document that lists it."""
    run = f"corespace/run{number}/"
    files = _folder(bundle / "corespace" / "run1", run) | _folder(
        bundle / "Trace1.run", f"Trace{number}.run/"
    )
    tables = f"{run}core/table-manager/tables.plist"
    if tables in files:
        files[tables] = zlib.compress(_renamed(zlib.decompress(files[tables]), number))
    files[TEMPLATE] = _with_run(bundle / TEMPLATE, number)
    return files


def _renamed(tables: bytes, number: int) -> bytes:
    import plistlib

    archive = plistlib.loads(tables)
    archive["$objects"] = [
        re.sub(r"^run1/", f"run{number}/", value) if isinstance(value, str) else value
        for value in archive["$objects"]
    ]
    return plistlib.dumps(archive, fmt=plistlib.FMT_BINARY, sort_keys=False)


def _with_run(template: Path, number: int) -> bytes:
    """List the first run's entries once more under another number (trace_bundle reference, section 3.5)."""
    import plistlib

    archive = plistlib.loads(template.read_bytes())
    objects, top = archive["$objects"], archive["$top"]
    objects.append(number)
    another = plistlib.UID(len(objects) - 1)
    runs = objects[top["com.apple.xray.run.data"].data]
    objects[runs["$0"].data]["NS.objects"].append(another)
    stores = top.get("com.apple.xray.symbolstoremanager.symbolstores")
    for reference in filter(None, (runs["$1"], stores)):
        entries = objects[reference.data]
        keys = [objects[key.data] for key in entries["NS.keys"]]
        entries["NS.objects"].append(entries["NS.objects"][keys.index(1)])
        entries["NS.keys"].append(another)
    return plistlib.dumps(archive, fmt=plistlib.FMT_BINARY, sort_keys=False)
