"""Names of processes and threads: from the run's own tables, or from the document where it has none."""

from __future__ import annotations

from typing import Any

import pytest
from bundle_support import APP, CLOCK, MAIN, WORKER, codes, entities_of, read, source_of

from sample_generator.bundle_schemas import PROCESS_INFO, THREAD_INFO
from sample_generator.bundle_tables import Col
from sample_generator.bundle_values import Process, Thread, ThreadName
from sample_generator.bundle_writer import BundleWriter, RunWriter

COLUMNS = (CLOCK, Col("value", "Thread", "XRThreadTypeID"), Col("process", "Process", "XRProcessTypeID"))
STRANGER = Thread(0x9999, Process(77, ""))


def read_threads(run: RunWriter, bundle: BundleWriter, *threads: Thread) -> list[tuple[Any, ...] | None]:
    run.table("t", COLUMNS, [(time, thread, thread.process) for time, thread in enumerate(threads)])
    table = read(bundle)
    pids = [process[0] for process in entities_of(table, "process")]
    assert pids == [thread.process.pid for thread in threads]
    return entities_of(table)


def info(thread: Thread, name: str | None, time_ns: int = 0, main: bool = False) -> tuple[Any, ...]:
    shown = None if name is None else ThreadName(name, thread)
    return time_ns, thread.process.pid, thread.tid, thread.process, thread, shown, main


def process(pid: int, name: str | None, time_ns: int = 0) -> tuple[Any, ...]:
    return time_ns, pid, 0, APP, name


def test_the_last_name_counts() -> None:
    bundle = BundleWriter()
    run = bundle.run()
    run.table(
        "process-info", PROCESS_INFO, [process(4711, "launcher"), process(1, "launchd"), process(4711, "App")]
    )
    run.table("thread-info", THREAD_INFO, [info(WORKER, "old"), info(MAIN, "x"), info(WORKER, "new")])
    assert read_threads(run, bundle, WORKER, MAIN) == [
        (0x5A01, "new", 4711, "App"),
        (0x5A00, "x", 4711, "App"),
    ]


def test_a_later_row_without_name_takes_none_away() -> None:
    bundle = BundleWriter()
    run = bundle.run()
    run.table("process-info", PROCESS_INFO, [process(4711, "App"), process(4711, None)])
    run.table("thread-info", THREAD_INFO, [info(WORKER, "decoder"), info(WORKER, None)])
    assert read_threads(run, bundle, WORKER) == [(0x5A01, "decoder", 4711, "App")]


def test_a_main_thread_is_named_main_thread() -> None:
    bundle = BundleWriter()
    run = bundle.run()
    run.table("process-info", PROCESS_INFO, [process(4711, "App")])
    run.table("thread-info", THREAD_INFO, [info(MAIN, "com.apple.main-thread", main=True), info(WORKER, "w")])
    assert [thread[1] for thread in read_threads(run, bundle, MAIN, WORKER)] == ["Main Thread", "w"]


def test_a_thread_without_name_shows_as_its_process() -> None:
    bundle = BundleWriter()
    run = bundle.run()
    run.table("process-info", PROCESS_INFO, [process(4711, "App")])
    run.table("thread-info", THREAD_INFO, [info(WORKER, None), info(MAIN, "")])
    assert [thread[1] for thread in read_threads(run, bundle, WORKER, MAIN)] == ["App", "App"]


def test_threads_and_processes_that_no_table_names() -> None:
    bundle = BundleWriter()
    run = bundle.run(processes=[APP], threads=[WORKER])
    run.process_tables()
    assert read_threads(run, bundle, STRANGER) == [(0x9999, "", 77, "")]


def test_without_tables_the_document_names_them() -> None:
    """As in recordings before Xcode 16."""
    bundle = BundleWriter()
    run = bundle.run(processes=[APP], threads=[MAIN, WORKER, Thread(0x5A02, APP)])
    assert read_threads(run, bundle, WORKER, MAIN, Thread(0x5A02, APP), STRANGER) == [
        (0x5A01, "worker", 4711, "SampleApp"),
        (0x5A00, "Main Thread", 4711, "SampleApp"),
        (0x5A02, "SampleApp", 4711, "SampleApp"),
        (0x9999, "", 77, ""),
    ]


@pytest.mark.parametrize("columns", [THREAD_INFO[:3], THREAD_INFO])
def test_an_empty_or_narrower_thread_info_is_none(columns: tuple[Col, ...]) -> None:
    bundle = BundleWriter()
    run = bundle.run(processes=[APP], threads=[MAIN, WORKER])
    run.table("thread-info", columns, [(0, 1, 2)] if len(columns) == 3 else [])
    assert [thread[1] for thread in read_threads(run, bundle, WORKER)] == ["worker"]


def test_each_run_has_its_own_names() -> None:
    bundle = BundleWriter()
    for name in ("before", "after"):
        renamed = Process(4711, name)
        run = bundle.run(processes=[renamed], threads=[Thread(1, renamed, f"{name}-thread")])
        run.process_tables()
        run.table("t", COLUMNS, [(0, Thread(1, APP), APP)])
    source = source_of(bundle)
    named = [entities_of(read(source, "t", run)) for run in (1, 2)]
    assert named == [[(1, "before-thread", 4711, "before")], [(1, "after-thread", 4711, "after")]]


def test_one_tid_in_two_processes() -> None:
    other_process = Process(900, "Other")
    bundle = BundleWriter()
    run = bundle.run(processes=[APP, other_process])
    run.process_tables()
    assert read_threads(run, bundle, Thread(1, APP), Thread(1, other_process)) == [
        (1, "SampleApp", 4711, "SampleApp"),
        (1, "Other", 900, "Other"),
    ]


def test_a_damaged_table_of_names_leaves_the_rows() -> None:
    bundle = BundleWriter()
    run = bundle.run(processes=[APP], threads=[WORKER])
    run.process_tables()
    run.table("t", COLUMNS, [(0, WORKER, APP)])
    files = bundle.files()
    files["corespace/run1/core/stores/indexed-store-1/bulkstore"] = b""
    source = source_of(files)
    assert entities_of(read(source)) == [(0x5A01, "worker", 4711, "SampleApp")]
    assert codes(source.issues()) == ["names-damaged"]
