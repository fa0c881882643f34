"""Search for bytes for which the accelerator and lxml give different results, or on which the scanner crashes.

    python tests/fuzz/exports.py [--cases 200000] [--seed 1] [--sanitize]

Each case is one of ``seeds/``, or two of them in one file, mutated in a few places. lxml alone and the accelerator
read it in blocks of a random size, the accelerator from a pipe, whose bytes are spooled, and from a file, which is
rewound. All must return the same documents, or the same error and the same complete tables before it. A case that
takes longer than ten seconds counts as a hang. With ``--sanitize`` the scanner is compiled again with the address
and undefined-behaviour sanitizers of gcc or clang, which end the program at the first access out of bounds; its
memory is limited, too. Failing cases are written to ``fuzz-found/``.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SEEDS = tuple(path.read_bytes() for path in sorted((HERE / "seeds").glob("*.xml")))
SCANNER_VARIABLE = "FUZZ_SCANNER"
CASE_SECONDS = 10
MEMORY_MB = 2000
OTHER_CUTS = ((1 << 18,), (64,), (1,))  # to find out whether lxml agrees with itself

NUMBERS = (0, 1, 2, 7, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30)
TOKENS = (
    b"<!-- -->", b"<!--", b"<![CDATA[x]]>", b"<?pi?>", b"<?xml version='1.0'?>", b"<!DOCTYPE x>", b"]]>", b"]]", b"&",
    b"&amp;", b"&lt;", b"&#65;", b"&#0;", b"&nbsp;", b"&quot;", b"&apos;", b"&ltx;", b"<", b">", b"/>", b"/", b'"',
    b"'", b"=", b" ", b"  ", b"\n", b"\r\n", b"\t", b"\0", b"\x01", b"\x7f", b"\x80", b"\xc0\x80", b"\xc2\xa0",
    b"\xe2\x86\x90", b"\xed\xa0\x80", b"\xef\xbf\xbe", b"\xef\xbb\xbf", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98\x80",
    b"<row>", b"</row>", b"<row/>", b"<node>", b"</node>", b"<schema>", b"</schema>", b"<sentinel/>", b"<sentinel></sentinel>",
    b"<x/>", b"<x id=\"1\"/>", b"<x ref=\"1\"/>", b"<source line=\"3\"/>", b"</trace-query-result>", b"<trace-toc>",
    b' id="3"', b' ref="3"', b' fmt="x"', b' xmlns="y"', b" a:b='c'", b"-", b"0", b"18446744073709551616", b"0x",
    b"-9223372036854775808", b"1 2", b"\n5\n", b" 5 ", b"x" * 100,
)  # fmt: skip
_ELEMENT = re.compile(rb"<[a-z-]+ (?:id|ref)=\"\d+\"[^<>]*/>|<row>.*?</row>\n?", re.DOTALL)
_ATTRIBUTE = re.compile(rb' [A-Za-z-]+="[^"<>]*"')
_NUMBER = re.compile(rb'(?<=id=")\d+|(?<=ref=")\d+')

Mutation = Callable[[random.Random, bytearray], None]


def bit_flip(dice: random.Random, data: bytearray) -> None:
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def random_byte(dice: random.Random, data: bytearray) -> None:
    data[dice.randrange(len(data))] = dice.randrange(256)


def truncation(dice: random.Random, data: bytearray) -> None:
    del data[dice.randrange(1, len(data)) :]


def cut_out(dice: random.Random, data: bytearray) -> None:
    start = dice.randrange(len(data))
    del data[start : start + dice.choice((1, 2, 8, 50))]


def swapped_blocks(dice: random.Random, data: bytearray) -> None:
    a, b, c, d = sorted(dice.randrange(len(data)) for _ in range(4))
    data[a:d] = data[c:d] + data[b:c] + data[a:b]


def repeated_block(dice: random.Random, data: bytearray) -> None:
    a, b = sorted(dice.randrange(len(data)) for _ in range(2))
    data[b:b] = data[a : min(b, a + 500)]


def token(dice: random.Random, data: bytearray) -> None:
    start = dice.randrange(len(data))
    if dice.random() < 0.7:  # beside markup, where most tokens change the meaning
        start = max(data.find(dice.choice((b"<", b">", b'"', b" ")), start), 0) + dice.randrange(2)
    data[start : start + dice.choice((0, 0, 0, 1))] = dice.choice(TOKENS)


def changed_number(dice: random.Random, data: bytearray) -> None:
    places = list(_NUMBER.finditer(data))
    if places:
        place = dice.choice(places)
        original = int(place.group()[:30])
        number = dice.choice((*NUMBERS, original + 1, original - 1, original * 2))
        data[slice(*place.span())] = (
            dice.choice((b"%d", b"0%d", b" %d", b"+%d", b"-%d", b"%d") if dice.random() < 0.3 else (b"%d",))
            % number
        )


def element_moved(dice: random.Random, data: bytearray) -> None:
    places = list(_ELEMENT.finditer(data))
    if places:
        source, target = dice.choice(places), dice.choice(places)
        moved = source.group()
        data[slice(*target.span())] = dice.choice((b"", moved, moved + target.group()))


def attribute_moved(dice: random.Random, data: bytearray) -> None:
    places = list(_ATTRIBUTE.finditer(data))
    if places:
        source, target = dice.choice(places), dice.choice(places)
        data[slice(*target.span())] = dice.choice(
            (b"", source.group(), source.group() + target.group(), target.group() + source.group())
        )


def deep_nesting(dice: random.Random, data: bytearray) -> None:
    depth = dice.choice((3, 30, 62, 63, 64, 65, 250, 260, 5000))
    start = max(data.find(b">", dice.randrange(len(data))), 0) + 1
    data[start:start] = b"<a>" * depth + (b"</a>" * depth if dice.random() < 0.8 else b"")


def many_attributes(dice: random.Random, data: bytearray) -> None:
    start = max(data.find(b'"', dice.randrange(len(data))), 0) + 1
    count = dice.choice((2, 20, 300)) if dice.random() < 0.999 else 1_000_000
    name = dice.choice((b' fmt="%d"', b' a%d="1"'))
    data[start:start] = b"".join(name % number for number in range(count))


def long_text(dice: random.Random, data: bytearray) -> None:
    start = max(data.find(dice.choice((b">", b'="')), dice.randrange(len(data))), 0) + 1
    data[start:start] = dice.choice((b"x", b"7", b" ", b"\n", b"\xc3\xa9")) * dice.choice(
        (15, 16, 17, 64, 5000)
    )


MUTATIONS: tuple[Mutation, ...] = (
    bit_flip, bit_flip, random_byte, truncation, cut_out, swapped_blocks, repeated_block, token, token, token,
    changed_number, changed_number, element_moved, element_moved, attribute_moved, deep_nesting, many_attributes, long_text,
)  # fmt: skip


def case(number: int, seed: int = 1) -> tuple[bytes, tuple[int, ...]]:
    """Return the bytes of a case, the same for the same numbers, and the sizes of their blocks."""
    dice = random.Random(f"{seed}/{number}")
    data = bytearray(dice.choice(SEEDS))
    if dice.random() < 0.1:
        data += dice.choice((b"", b"\n", b"\xef\xbb\xbf")) + dice.choice(SEEDS)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
        if len(data) > 1:
            dice.choice(MUTATIONS)(dice, data)
    sizes = dice.choice(((1 << 18,), (dice.randrange(1, 5000),), (1,), (dice.randrange(1, 50), 700)))
    return bytes(data), sizes if len(data) < 100_000 else (1 << 18, 4099)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cases", type=int, default=200_000)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--sanitize", action="store_true")
    options = arguments.parse_args()
    if options.sanitize and SCANNER_VARIABLE not in os.environ:
        raise SystemExit(with_sanitizers(sys.argv))
    sys.path[:0] = [str(ROOT), str(HERE.parent), str(HERE.parent / "support")]
    use_scanner(os.environ.get(SCANNER_VARIABLE, ""))
    raise SystemExit(1 if search(range(options.first, options.first + options.cases), options.seed) else 0)


def search(numbers: range, seed: int) -> int:
    """Run cases and print the failing ones; return how many failed."""
    kinds: Counter[str] = Counter()
    start = time.monotonic()
    signal.signal(signal.SIGALRM, _hang)
    for number in numbers:
        data, sizes = case(number, seed)
        signal.alarm(CASE_SECONDS)
        try:
            difference, kind = differ(data, sizes)
        except Exception as error:  # noqa: BLE001 - any exception is a defect
            difference, kind = repr(error), "failed"
        signal.alarm(0)
        kinds[kind] += 1
        if difference:
            keep(number, seed, data, sizes, difference)
        if number % 10_000 == 9_999:
            print(
                f"{number + 1 - numbers.start:>8} cases, {time.monotonic() - start:.0f} s: {dict(kinds)}",
                flush=True,
            )
    print(f"{len(numbers)} cases, {time.monotonic() - start:.0f} s: {dict(kinds)}", flush=True)
    return kinds["different"] + kinds["failed"]


def differ(data: bytes, sizes: tuple[int, ...]) -> tuple[str, str]:
    """Return ("", the kind of outcome), or (the difference, its kind).

    For damaged documents, lxml itself gives different errors depending on how the bytes are cut: libxml2 finds
    some errors only when more bytes have come. For these, any refusal passes.
    """
    from xml_readers import outcome, pieces

    def rewind(position: int) -> Iterator[bytes]:
        return pieces(data[position:], sizes)

    expected = outcome(data, "lxml", sizes)
    results = {
        "accelerator, spooled": outcome(data, "compiled", sizes),
        "accelerator, rewound": outcome(data, "compiled", sizes, rewind=rewind),
    }
    kind = "refused" if isinstance(expected, tuple) else "read"
    for name, result in results.items():
        if result != expected:
            by_cut = [expected, *(outcome(data, "lxml", cut) for cut in OTHER_CUTS)]
            all_refused = all(isinstance(refusal, tuple) for refusal in (result, *by_cut))
            if not all_refused or all(refusal == expected for refusal in by_cut):
                return f"lxml: {short(expected)}\n{name}: {short(result)}", "different"
            kind = "refused in other words"
    return "", kind


def short(outcome: object) -> str:
    """Return an outcome's text, with its middle left out if it is long."""
    text = str(outcome[:2] if isinstance(outcome, tuple) else outcome)
    return text if len(text) < 500 else f"{text[:300]} … {text[-200:]}"


def keep(number: int, seed: int, data: bytes, sizes: tuple[int, ...], difference: str) -> None:
    folder = Path("fuzz-found")
    folder.mkdir(exist_ok=True)
    (folder / f"{seed}-{number}.xml").write_bytes(data)
    print(f"case {number} of seed {seed}, blocks {sizes}:\n{difference}", flush=True)


def _hang(*_: object) -> None:
    raise TimeoutError(f"longer than {CASE_SECONDS} seconds")


def with_sanitizers(command: list[str]) -> int:
    """Compile the scanner with sanitizers and run the same command with that."""
    compiler = os.environ.get("CC", "gcc")
    with tempfile.TemporaryDirectory() as folder:
        source, library = (
            Path(folder, "_scanner.c"),
            Path(folder, f"_scanner{sysconfig.get_config_var('EXT_SUFFIX')}"),
        )
        module = ROOT / "tracekit" / "parsers" / "xml" / "_scanner.pyx"
        subprocess.run([sys.executable, "-m", "cython", "-3", str(module), "-o", str(source)], check=True)
        flags = "-O1 -g -fPIC -shared -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
        include = [f"-I{sysconfig.get_path('include')}", f"-I{module.parent}"]
        subprocess.run([compiler, *flags.split(), *include, str(source), "-o", str(library)], check=True)
        runtime = subprocess.run(
            [compiler, "-print-file-name=libasan.so"], check=True, capture_output=True, text=True
        ).stdout.strip()
        options = f"detect_leaks=0:hard_rss_limit_mb={MEMORY_MB}:allocator_may_return_null=1"
        environment = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": options, SCANNER_VARIABLE: str(library)}
        return subprocess.run(
            [sys.executable, *command], env=os.environ | environment, check=False
        ).returncode


def use_scanner(library: str) -> None:
    """Load the compiled scanner from that file, if any."""
    if library:
        import tracekit.parsers.xml as package

        spec = importlib.util.spec_from_file_location("tracekit.parsers.xml._scanner", library)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["tracekit.parsers.xml._scanner"] = package._scanner = module  # type: ignore[attr-defined]
        spec.loader.exec_module(module)


if __name__ == "__main__":
    main()
