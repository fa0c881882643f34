"""``kill -9`` of a dashboard during uploads and readings, and recordings that are interrupted at any moment.

    python tests/attack/kills.py [--cases 25] [--seconds 300] [--seed 1]

A server is killed at a random moment while a file is uploaded to it in slices or read, and started again.
Between two of its lives the catalog is lost, damaged or replaced by an older one, and files of the user's
lie in the library. Findings are an offset below the acknowledged bytes or beyond those sent, a finished upload
without its recording, a recording with other bytes, a note that is lost, a file of the user's that is
gone, a log with a traceback, a server that does not start. ``tracekit
record`` beside a fake xctrace gets a signal at a random moment: it must have saved the recording or end with
an error, and leave neither a process nor a file.
"""

from __future__ import annotations

import gzip
import http.client
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    ROOT = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(ROOT / name) for name in ("", "tests", "tests/support")]

from dashboard_support import SAMPLES, Started, export_of, start
from record_process import Running

from attack.runner import Report, parser_of

EXPORT = SAMPLES / "cpu-espresso-lstm-macos13"
SLICE_BYTES = 1 << 17
LONGEST_LIFE_SECONDS = 1.5
RECORDED = ("--app", "SampleApp", "--time-limit", "1s", "-o", "x.trace", "--no-analysis")
LONGEST_RECORDING_SECONDS = 2.0
CATALOG = "catalog.sqlite3"
MINE = (
    "recordings/My.trace/store",
    "recordings/notes.txt",
    "uploads/a/b.jpg",
    "comparisons/c",
    "trash/old/d",
)
"""Files of the user's, where the library has folders of these names."""
NOTE = "deadbeef01"
SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Upload:
    """One upload, across the deaths of the server: what was sent, and what it acknowledged."""

    content: bytes
    id: str = ""
    acknowledged: int = 0
    sent: int = 0
    recording: str = ""
    note: str = ""


class Deaths:
    """A library whose server is killed again and again, with one client that always goes on."""

    def __init__(self, folder: Path, report: Report, dice: random.Random) -> None:
        self._folder, self._report, self._dice = folder, report, dice
        self._upload = self._new_upload()
        self._finished: list[Upload] = []
        self._has_files = False

    def _new_upload(self) -> Upload:
        content = export_of(EXPORT).read_bytes()
        return Upload(content + b"\n" * self._dice.randrange(1 << 20, 4 << 20))

    def one(self, number: int) -> None:
        """Start the server, work with it until it is killed, and look at its log."""
        started = start(self._folder)
        killer = threading.Timer(self._dice.uniform(0.0, LONGEST_LIFE_SECONDS), started.process.kill)
        killer.start()
        try:
            self._check_offset(started, number)
            while True:
                self._step(started)
        except (OSError, http.client.HTTPException):
            pass  # it was killed
        finally:
            killer.join()
            started.process.wait(30)
        if "Traceback" in started.log():
            self._report.find(f"server {number}", started.log()[-500:])

    def mishap(self) -> None:
        """Lose, damage or replace the catalog of a server that does not run, or put files beside its own."""
        library = self._folder / "library"
        catalog = library / CATALOG
        if not catalog.exists():
            return
        kind = self._dice.choice(("none", "lost", "damaged", "backup", "restored", "files"))
        backup = self._folder / "backup"
        if kind == "backup":
            shutil.copyfile(catalog, backup)
        elif kind == "damaged":
            content = bytearray(catalog.read_bytes())
            place = self._dice.randrange(len(content))
            content[place : place + 600] = self._dice.randbytes(len(content[place : place + 600]))
            catalog.write_bytes(content)
        elif kind == "lost" or (kind == "restored" and backup.exists()):
            for path in library.glob(f"{CATALOG}*"):
                path.unlink()
            if kind == "restored":
                shutil.copyfile(backup, catalog)
        elif kind == "files":
            for name in MINE:
                (library / name).parent.mkdir(parents=True, exist_ok=True)
                (library / name).write_text(name)
            self._has_files = True
        self._report.count(f"catalog or folder: {kind}")

    def _check_offset(self, started: Started, number: int) -> None:
        upload = self._upload
        if not upload.id:
            return
        status, offset, _ = self._request(started, "HEAD", f"/api/uploads/{upload.id}")
        if status == 404 and upload.sent == len(upload.content):
            return  # finished, and killed before it could be acknowledged
        if status != 204 or not upload.acknowledged <= offset <= upload.sent:
            self._report.find(
                f"server {number}",
                f"{status}: {offset} of {upload.acknowledged} acknowledged, {upload.sent} sent",
            )
        upload.acknowledged = offset

    def _step(self, started: Started) -> None:
        """Begin an upload, send a slice of it, or finish it."""
        upload = self._upload
        if not upload.id:
            body = json.dumps({"name": "x.xml", "size_bytes": len(upload.content)}).encode()
            upload.id = self._request(started, "POST", "/api/uploads", body)[2]["id"]
        elif upload.acknowledged < len(upload.content):
            piece = upload.content[upload.acknowledged : upload.acknowledged + SLICE_BYTES]
            upload.sent = upload.acknowledged + len(piece)
            offset = self._request(started, "PUT", f"/api/uploads/{upload.id}", piece, upload.acknowledged)[1]
            upload.acknowledged = offset
        else:
            status, _, body = self._request(started, "POST", f"/api/uploads/{upload.id}/finish", b"{}")
            upload.recording = body.get("recording", "")
            if status != 200:
                self._report.find("finish", f"{status}: {body}")
            self._finished.append(upload)
            self._upload = self._new_upload()
            note = json.dumps({"time_ns": 1, "text": f"of {upload.recording}"}).encode()
            path = f"/api/recordings/{upload.recording}/notes/{NOTE}"
            if self._request(started, "PUT", path, note)[0] == 200:
                upload.note = f"of {upload.recording}"

    def _request(
        self, started: Started, method: str, path: str, body: bytes = b"", offset: int = 0
    ) -> tuple[int, int, dict[str, str]]:
        """Return status, offset and JSON of a response."""
        connection = http.client.HTTPConnection("127.0.0.1", started.port, timeout=30)
        headers = {
            "Origin": started.base.rstrip("/"),
            "X-Tracekit": "1",
            "Upload-Offset": str(offset),
            "Content-Type": "application/json",
        }
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        if response.getheader("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        return response.status, int(response.getheader("Upload-Offset", "-1")), json.loads(data or b"{}")

    def finish(self, max_seconds: float) -> None:
        """Let the last server read what was uploaded, and compare every byte."""
        started = start(self._folder)
        try:
            deadline = time.monotonic() + max_seconds
            for upload in self._finished:
                self._check(started, upload, deadline)
        finally:
            started.process.terminate()
            started.process.wait(30)
        if "Traceback" in started.log():
            self._report.find("the last server", started.log()[-500:])
        self._report.notes["uploads finished"] = str(len(self._finished))

    def _check(self, started: Started, upload: Upload, deadline: float) -> None:
        place = started.library / "recordings" / upload.recording
        try:
            content = (place / "input" / "recording").read_bytes()
        except OSError as error:
            self._report.find(upload.recording, f"is missing: {error}")
            return
        if content != upload.content:
            self._report.find(upload.recording, "has other bytes")
        if upload.note and upload.note not in (place / "notes.json").read_text():
            self._report.find(upload.recording, "lost its note")
        for name in MINE if self._has_files else ():
            if not (started.library / name).is_file():
                self._report.find(name, "was removed")
        while self._request(started, "GET", f"/api/recordings/{upload.recording}/sections")[0] != 200:
            if time.monotonic() > deadline:
                self._report.notes["not read at the end"] = upload.recording
                return
            time.sleep(0.2)


def interrupted(home: Path, dice: random.Random) -> str:
    """Interrupt a recording at a random moment; return the problem, or ""."""
    running = Running(home, RECORDED, start_seconds=0.2, save_seconds=0.3)
    running.wait_for(running.xctrace.calls)  # before that, Python itself is starting
    try:
        running.process.wait(dice.uniform(0.0, LONGEST_RECORDING_SECONDS))
    except subprocess.TimeoutExpired:
        running.interrupt(dice.choice(SIGNALS))
    ended = running.end()
    details = f"exit code {ended.code}, files {ended.files()}: {ended.error[-300:]}"
    if ended.code < 0:  # a signal before the command could prepare for it; a call of xctrace may just end
        deadline = time.monotonic() + 10
        while ended.xctrace.running() and time.monotonic() < deadline:
            time.sleep(0.05)
        return "" if ended.left_nothing() and not ended.files() else f"it died and left something: {details}"
    if not ended.left_nothing() or "Traceback" in ended.error:
        return f"something is left ({ended.xctrace.running()}, {ended.xctrace.temporary_files()}): {details}"
    if "Saved x.trace" in ended.error:  # a signal after that may end tracekit; the recording stays
        return "" if (ended.folder / "x.trace" / "form.template").exists() else f"nothing is saved: {details}"
    has_sentence = (
        "Error: " in ended.error
        or ended.error.strip() == "Interrupted."
        or (not ended.error and ended.code in (143, 129))
    )
    is_explained = "x.trace" not in ended.files() or "was not finished" in ended.error
    return "" if ended.code != 0 and has_sentence and is_explained else f"no error: {details}"


def main(arguments: list[str] | None = None) -> int:
    """Kill servers, interrupt recordings, and print the table."""
    chosen = parser_of(__doc__, 25).parse_args(arguments)
    report = Report("kills", 3 * chosen.cases)
    dice = random.Random(chosen.seed)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        deaths = Deaths(Path(folder), report, dice)
        for number in range(chosen.cases):
            if time.monotonic() > begin + 0.6 * chosen.seconds:
                break
            deaths.one(number)
            deaths.mishap()
            report.count("servers killed")
        deaths.finish(60)
        for number in range(2 * chosen.cases):
            if time.monotonic() > begin + chosen.seconds:
                break
            home = Path(folder, f"recording{number}")
            home.mkdir()
            if problem := interrupted(home, dice):
                report.find(f"recording {number}", problem)
            report.count("recordings interrupted")
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
