"""Each file of a bundle damaged in turn: a result, or one sentence with exit code 3. Never another exception."""

from __future__ import annotations

import plistlib
import random
import zlib
from pathlib import Path
from typing import Any

import pytest
from bundle_support import (
    CLOCK,
    STORES,
    changed,
    codes,
    issues_of,
    new_run,
    read,
    small_bundle,
    source_of,
    without,
)
from click.testing import CliRunner
from documents_support import column

from sample_generator.bundle_tables import Col
from sample_generator.bundle_writer import BundleWriter, Files, write_folder
from tracekit.cli import main
from tracekit.errors import InputError, TracekitError

GOOD = small_bundle().files()
TABLES = ("process-info", "thread-info", "time-profile")
STORE = f"{STORES}/indexed-store-2"
DESCRIPTOR = f"{STORE}/bulkstore_descriptor"
UID = plistlib.UID


def is_packed(name: str) -> bool:
    return name.startswith("corespace/run")


def keyed(objects: list[Any]) -> bytes:
    document = {"$archiver": "NSKeyedArchiver", "$objects": ["$null", *objects], "$top": {"root": UID(1)}}
    return plistlib.dumps(document, fmt=plistlib.FMT_BINARY)


DEEP = keyed([{"NS.objects": [UID(number + 2)]} for number in range(5000)] + ["x"])
LOOP = keyed([{"NS.objects": [UID(1), UID(1)]}, {"NS.keys": [UID(2)], "NS.objects": [UID(2)]}])
HUGE_COUNT = keyed([[1] * 20]).replace(b"\xaf\x10\x14", b"\xaf\x13\x7f") + bytes(16)
DEEP_XML = b"<plist version='1.0'>" + b"<array>" * 100_000 + b"</array>" * 100_000 + b"</plist>"
GARBAGE = random.Random(1).randbytes(3000)


def damages(name: str) -> dict[str, Files]:
    """Return the bundle with each kind of damage to one file."""
    stored = GOOD[name]
    content = zlib.decompress(stored) if is_packed(name) else stored
    chance = random.Random(name)
    flipped = {
        f"bit {bit}": flip(content, bit) for bit in chance.sample(range(8 * min(len(content), 4500)), 4)
    }
    contents = {
        "empty": b"",
        "half": content[: len(content) // 2],
        "garbage": GARBAGE,
        "deep": DEEP,
        "loop": LOOP,
        "huge count": HUGE_COUNT,
        **flipped,
    }
    packed = {
        what: zlib.compress(content) if is_packed(name) else content for what, content in contents.items()
    }
    packed["stored half"] = stored[: len(stored) // 2]
    packed["stored empty"] = b""
    packed["stored bit"] = flip(stored, chance.randrange(8 * len(stored)))
    return {"deleted": without(GOOD, name)} | {
        what: {**GOOD, name: content} for what, content in packed.items()
    }


def flip(content: bytes, bit: int) -> bytes:
    changed_ = bytearray(content)
    changed_[bit // 8] ^= 1 << bit % 8
    return bytes(changed_)


@pytest.mark.integration
@pytest.mark.parametrize("name", GOOD)
def test_reading_ends_in_rows_or_in_an_input_error(name: str) -> None:
    for what, files in damages(name).items():
        try:
            source = source_of(files)
        except InputError as error:
            assert str(error).startswith("recording.trace: "), what
            continue
        for schema in TABLES:
            try:
                rows = [len(table) for table in source.tables(schema)]
            except InputError as error:
                assert "cannot be read: corespace/run1/" in str(error), what
                continue
            assert rows in ([], [1], [2], [20]), what
        assert all(issue.message for issue in source.issues())


@pytest.mark.integration
@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("what", ["deleted", "half", "garbage"])
def test_the_command_ends_in_an_analysis_or_in_one_sentence(tmp_path: Path, name: str, what: str) -> None:
    folder = write_folder(damages(name)[what], tmp_path / "x.trace")
    result = CliRunner().invoke(main, ["analyze", str(folder), "--via", "native"])
    assert result.exit_code in (0, 3), result.exception
    if result.exit_code:
        assert result.stderr.startswith("Error: ")
        assert len(result.stderr.strip().splitlines()) == 1
    else:
        assert "20 from time-profile" in result.stdout


@pytest.mark.integration
def test_a_damaged_file_that_matters_is_never_passed_over() -> None:
    """Without each of these the rows are other rows, so reading must report an issue."""
    for name in GOOD:
        if name == "open.creq" or name.endswith(("MANIFEST.plist", "/TOC", "/spec.plist")):
            continue  # the list of tables has the content of the last one, too
        source = source_of({**GOOD, name: GARBAGE})
        try:
            (table,) = source.tables("time-profile")
        except (ValueError, TracekitError):
            continue
        issue_codes = codes(source.issues())
        assert len(table) == 20
        if "exposedTableInfo" not in name and "typedArray" not in name and "etypes" not in name:
            assert issue_codes, name


def test_attributes_come_from_either_of_their_two_places() -> None:
    spec, tables = f"{STORES}/indexed-store-2/spec.plist", "corespace/run1/core/table-manager/tables.plist"
    whole = source_of(GOOD).toc()[0].tables
    for damaged in (spec, tables):
        source = source_of({**GOOD, damaged: GARBAGE})
        assert source.toc()[0].tables == whole
    neither = source_of({**GOOD, spec: GARBAGE, tables: GARBAGE})
    assert codes(neither.issues()) == ["contents-damaged", "attributes-damaged"]
    assert (neither.toc()[0].tables[2].schema, neither.toc()[0].tables[2].attributes) == ("time-profile", {})


# What a table must be -------------------------------------------------------------------------------------


def error_of(files: Files) -> str:
    """Return the outcome of reading the time profile: an error, or a table that is listed and missing."""
    source = source_of(files)
    try:
        assert list(source.tables("time-profile")) == []
    except InputError as error:
        return str(error)
    (text,) = issues_of(source, "table-damaged")
    (info,) = (table for table in source.toc()[0].tables if table.schema == "time-profile")
    assert info.row_count is None
    return text


def with_described(**fields: Any) -> Files:
    """Return the bundle with other values in the dictionaries of the time profile's descriptor."""
    document = plistlib.loads(zlib.decompress(GOOD[DESCRIPTOR]))
    objects = document["$objects"]
    for entry in [o for o in objects if isinstance(o, dict)]:
        for index, key in enumerate(entry.get("NS.keys", [])):
            if objects[key.data] in fields:
                entry["NS.objects"][index] = UID(len(objects))
                objects.append(fields[objects[key.data]])
    return {**GOOD, DESCRIPTOR: zlib.compress(plistlib.dumps(document, fmt=plistlib.FMT_BINARY))}


def claiming(rows: int, columns: tuple[Col, ...] = (CLOCK,)) -> Files:
    bundle = BundleWriter()
    new_run(bundle).table("time-profile", columns, [(1,)], next_event_id=rows)
    return bundle.files()


@pytest.mark.parametrize("rows", [257, 10**9, 10**12])
def test_more_rows_than_there_are(rows: int) -> None:
    """A page of zeros follows the last row, of which each 16 bytes could be a row."""
    text = error_of(claiming(rows))
    assert f"{STORE}/bulkstore holds 256 rows of the" in text


@pytest.mark.parametrize(
    "rows",
    [
        2**41,
        2**63,
        -1,
        0.5,
        "many",
        None,
        True,
    ],
)
def test_an_impossible_number_of_rows(rows: Any) -> None:
    text = error_of(with_described(next_event_id="$null" if rows is None else rows))
    assert DESCRIPTOR in text
    assert "does not define the fields of a row, or the number of rows" in text


def test_fewer_rows_than_there_are_leave_the_others() -> None:
    bundle = BundleWriter()
    new_run(bundle).table("time-profile", (CLOCK,), [(time,) for time in range(10)], next_event_id=4)
    assert column(read(bundle, "time-profile"), "time") == [0, 1, 2, 3]


def test_a_store_that_is_cut_off() -> None:
    text = error_of(changed(GOOD, f"{STORE}/bulkstore", lambda data: data[: 0x1000 + 10 * 40 + 5]))
    assert (
        f"'time-profile' cannot be read: {STORE}/bulkstore holds 10 rows of the 20 that were recorded" in text
    )
    assert "holds 0 rows of the 20" in error_of(
        changed(GOOD, f"{STORE}/bulkstore", lambda data: data[:0x800])
    )


def test_a_stream_that_is_cut_off() -> None:
    name = f"{STORE}/bulkstore"
    for keep in (3, 20, len(GOOD[name]) - 60):
        assert f"{name} " in error_of({**GOOD, name: GOOD[name][:keep]})


@pytest.mark.parametrize("lost", [1, 4, 5])
@pytest.mark.parametrize(
    "name", ["strings", "arrayUniquer/integeruniquer.data", "arrayUniquer/integeruniquer.index"]
)
def test_a_stream_without_its_end_is_cut_off_even_if_all_is_there(name: str, lost: int) -> None:
    file = f"corespace/run1/core/uniquing/{name}"
    assert f"cannot be read: {file} is cut off" in error_of({**GOOD, file: GOOD[file][:-lost]})


@pytest.mark.parametrize(
    ("offset", "value", "problem"),
    [
        (0, 0x12340A0B, "does not begin like stored rows"),
        (4, 4, "does not begin like stored rows"),
        (12, 0, "has rows at an impossible offset"),
        (12, 0x7FFFFFFF, "has rows at an impossible offset"),
        (16, 43, "declares 43 bytes a row, but its descriptor 40"),
    ],
)
def test_the_header_of_a_store(offset: int, value: int, problem: str) -> None:
    def patched(data: bytes) -> bytes:
        return data[:offset] + value.to_bytes(4, "little") + data[offset + 4 :]

    assert f"{STORE}/bulkstore {problem}" in error_of(changed(GOOD, f"{STORE}/bulkstore", patched))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"_maxEventSize": 45}, "declares 45 bytes a row, but its fields add up to 40"),
        ({"_maxEventSize": 0}, "declares 0 bytes a row, but its fields add up to 40"),
        ({"_variableSize": True}, "has rows of variable size"),
        ({"_multi": 2}, "has rows of variable size"),
    ],
)
def test_a_descriptor_of_something_else(fields: dict[str, Any], problem: str) -> None:
    assert f"{DESCRIPTOR} {problem}" in error_of(with_described(**fields))


SCHEMA = f"{STORE}/schema.xml"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            b"XRT64_CC32_R_TypeID",
            b"XRTD64_CC32_R_TypeID",
            "has rows of topology 7 where the schema requires XRTD64",
        ),
        (b'mnemonic="weight"', b'mnemonic="wait"', "has no field for the column 'wait'"),
        (b"XRCategory1FieldID", b"XRDurationFieldID", "has no field for the column 'thread'"),
        (b"<schema", b"<shema", "is not well-formed XML"),
        (b'name="time-profile"', b"", "describes no table"),
        (b"<column ", b"<row ", "describes no table"),
    ],
)
def test_a_schema_of_something_else(old: bytes, new: bytes, problem: str) -> None:
    text = error_of(changed(GOOD, SCHEMA, lambda data: data.replace(old, new)))
    assert problem in text
    assert STORE in text


def test_an_unknown_topology() -> None:
    document = plistlib.loads(zlib.decompress(GOOD[DESCRIPTOR]))
    assert 7 in document["$objects"]
    document["$objects"][document["$objects"].index(7)] = 8
    files = {**GOOD, DESCRIPTOR: zlib.compress(plistlib.dumps(document, fmt=plistlib.FMT_BINARY))}
    assert f"{DESCRIPTOR} has rows of the unknown topology 8 (XRT64_CC32_R_TypeID)" in error_of(files)


def test_an_unknown_name_of_a_known_topology_is_read() -> None:
    files = changed(GOOD, SCHEMA, lambda data: data.replace(b"XRT64_CC32_R_TypeID", b"XRT64_New_TypeID"))
    assert len(read(files, "time-profile")) == 20


def test_a_table_whose_folder_is_missing_is_listed_without_rows() -> None:
    source = source_of({name: data for name, data in GOOD.items() if not name.startswith(STORE)})
    (info,) = (table for table in source.toc()[0].tables if table.schema == "time-profile")
    assert (info.row_count, info.attributes) == (None, {"target-pid": "SINGLE"})
    assert issues_of(source, "table-damaged") == [
        f"{STORE} is missing; the table 'time-profile' cannot be read"
    ]
    assert list(source.tables("time-profile")) == []


# Property lists in XML ------------------------------------------------------------------------------------

STRINGS = "corespace/run1/core/uniquing/strings"
XML = '<?xml version="1.0"?><plist version="1.0">{}</plist>'
LISTS_OF_OTHER_THINGS = {
    "a dictionary": XML.format("<dict/>"),
    "nothing": XML.format(""),
    "cut off": "<plist><array><string>x",
    "an entity": '<!DOCTYPE p [<!ENTITY a "aaaaaaaaaa">]>'
    + XML.format("<array><string>&a;</string></array>"),
    "an encoding": '<?xml version="1.0" encoding="klingon"?><plist><array/></plist>',
    "a date": XML.format("<array><date>yesterday</date></array>"),
    "deep": DEEP_XML.decode(),
    "a number": XML.format("<array><integer>x</integer></array>"),
}


@pytest.mark.integration
@pytest.mark.parametrize("xml", LISTS_OF_OTHER_THINGS.values(), ids=LISTS_OF_OTHER_THINGS)
def test_strings_that_are_no_strings(xml: str) -> None:
    assert f"cannot be read: {STRINGS} " in error_of({**GOOD, STRINGS: zlib.compress(xml.encode())})


TYPE_KEY = "com.apple.dt.etype.XRThreadTypeID"


@pytest.mark.integration
@pytest.mark.parametrize("xml", LISTS_OF_OTHER_THINGS.values(), ids=LISTS_OF_OTHER_THINGS)
def test_damaged_requirements_change_nothing(xml: str) -> None:
    assert len(read({**GOOD, "open.creq": xml.encode()}, "time-profile")) == 20


@pytest.mark.parametrize(
    "inner", ["<date>yesterday</date>", "<array>" * 50_000 + "</array>" * 50_000], ids=["date", "deep"]
)
def test_requirements_that_plistlib_fails_on(inner: str) -> None:
    xml = XML.format(f"<dict><key>{TYPE_KEY}</key><array>{inner}</array></dict>")
    assert len(read({**GOOD, "open.creq": xml.encode()}, "time-profile")) == 20
