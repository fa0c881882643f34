"""Random export documents, numbered as xctrace numbers them: a value once, afterwards references to it."""

from __future__ import annotations

import random
from xml.sax.saxutils import escape, quoteattr

from documents_support import document, node, schema

TYPES = (
    "sample-time", "thread", "process", "core", "thread-state", "weight", "backtrace", "tagged-backtrace", "kperf-bt",
    "uint64", "string", "uint64-array", "percent", "os-log-metadata", "formatted-label", "any",
)  # fmt: skip
WORDS = (
    "a", "Running", "7", "-7", "007", "", " ", "x y", "4 5", "0.25", "18446744073709551615", "18446744073709551616", "-0",
    "-9223372036854775808", "<&>\"'", "a\nb", "a\tb", "\n 5 \n", "]]", "ü ← 😀", "x" * 40, "0x1f", "nan",
)  # fmt: skip


class RandomExport:
    """Writes one document; everything in it is random, by ``dice``."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._next = 1
        self._ids: dict[str, list[int]] = {}

    def document(self) -> str:
        return document(
            *(
                "\n" * self._dice.randrange(2) + self._node(index)
                for index in range(self._dice.randrange(1, 4))
            )
        )

    def _node(self, index: int) -> str:
        types = [self._dice.choice(TYPES) for _ in range(self._dice.randrange(1, 5))]
        between = self._dice.choice(("", "\n", "\n  "))
        rows = [
            f"<row>{between}{between.join(self._cell(kind) for kind in types)}{between}</row>"
            for _ in range(self._dice.randrange(8))
        ]
        columns = [(f"c{place}", kind) for place, kind in enumerate(types)]
        return node(schema(f"s{index}", columns) + "\n".join(rows), table=index + 1)

    def _cell(self, kind: str) -> str:
        return (
            "<sentinel/>"
            if self._dice.random() < 0.1
            else self._element(self._dice.choice(("uint64", "string")) if kind == "any" else kind)
        )

    def _element(self, kind: str) -> str:
        ids = self._ids.setdefault(kind, [])
        if ids and self._dice.random() < 0.5:
            return f'<{kind} ref="{self._dice.choice(ids)}"/>'
        number = self._next
        self._next += 1
        write = getattr(self, f"_{kind.replace('-', '_')}", None)
        attributes, content = write() if write else ("", escape(self._value(kind)))
        fmt = f" fmt={quoteattr(self._dice.choice(WORDS).replace(chr(10), ' ').replace(chr(9), ' '))}"
        fmt = fmt.replace("'", '"') if '"' not in fmt else ' fmt="f"'
        ids.append(number)
        start = f'<{kind} id="{number}"{attributes or (fmt if self._dice.random() < 0.8 else "")}'
        return f"{start}>{content}</{kind}>" if content else f"{start}/>"

    def _value(self, kind: str) -> str:
        numeric = {"sample-time", "weight", "core", "tid", "pid", "uint64", "boolean", "text-address"}
        if kind in numeric and self._dice.random() < 0.95:
            return str(self._dice.choice((0, 1, 7, 2**31, 2**63 - 1, self._dice.randrange(10**9))))
        return self._dice.choice(WORDS)

    def _some(self, *kinds: str) -> str:
        return "".join(self._element(kind) for kind in kinds)

    def _thread(self) -> tuple[str, str]:
        return ' fmt="Main Thread (0x1f) (App, pid: 7)"', self._some("tid", "process")

    def _process(self) -> tuple[str, str]:
        return ' fmt="App (7)"', self._some("pid")

    def _backtrace(self) -> tuple[str, str]:
        kinds = ["frame"] * self._dice.randrange(1, 5)
        if self._dice.random() < 0.2:
            kinds = ["process", "text-addresses", "text-addresses"]
        return ' fmt="f &lt;x> ← (2 other frames)"', self._some(*kinds)

    def _tagged_backtrace(self) -> tuple[str, str]:
        return "", self._some(*self._dice.choice((("backtrace", "uint64"), ("frame", "frame"))))

    def _kperf_bt(self) -> tuple[str, str]:
        return "", self._some("text-addresses", "text-address", "process", "boolean")

    def _text_addresses(self) -> tuple[str, str]:
        return "", " ".join(str(self._dice.randrange(2**40)) for _ in range(self._dice.randrange(1, 4)))

    def _os_log_metadata(self) -> tuple[str, str]:
        return "", self._some("string", "uint64") + "<sentinel/>"

    def _formatted_label(self) -> tuple[str, str]:
        return "", self._some("string") if self._dice.random() < 0.9 else ""

    def _frame(self) -> tuple[str, str]:
        inside = self._some("binary") if self._dice.random() < 0.8 else ""
        if self._dice.random() < 0.3:
            inside += f'<source line="{self._dice.randrange(1, 99)}">{self._some("path")}</source>'
        inlined = ' inlined="true"' if self._dice.random() < 0.2 else ""
        return (
            f' name="f{self._dice.randrange(4)}&lt;T>" addr="{self._dice.randrange(2**40):#x}"{inlined}',
            inside,
        )

    def _binary(self) -> tuple[str, str]:
        return f' name="b{self._dice.randrange(3)}" UUID="U" arch="arm64" load-addr="0x1000" path="/b"', ""
