"""A small model and its plan as Core ML writes them: MIL text, and the same with the backends it chose.

Both are made up: no compiler wrote them, and the messages have the form of published ones.
"""

from __future__ import annotations

from dataclasses import dataclass

_HEAD = (
    "program(1.3)\n"
    '[buildInfo = dict<string, string>({{"coremlc-component-MIL", "0.0.0"}, {"synthetic", "Synthetic"}})]\n'
    "{\n"
    "    func main<ios18>(tensor<fp16, [1, 64, 32, 32]> x, tensor<int32, [1, 16]> tokens) {\n"
)
_FOOT = "        } -> (%s);\n}\n"
_BACKENDS = ("unsupported", "unsupported", "bnns", "classic_cpu", "ane")


@dataclass(frozen=True)
class Planned:
    """One operation: its result's type, name, kind and arguments; the backend that the plan has for it.

    `message` is why the Neural Engine is refused; it may be supported there and run elsewhere all the same.
    """

    type: str
    name: str
    kind: str
    arguments: str
    backend: str = "ane"
    message: str = ""
    supported: bool = True

    def to_mil(self) -> str:
        return f"tensor<{self.type}> {self.name} = {self.kind}({self.arguments})"


def model_text(operations: list[Planned]) -> str:
    """Return `model.mil` of a compiled model."""
    lines = [f'            {entry.to_mil()}[name = string("{entry.name}")];\n' for entry in operations]
    return f"{_HEAD}{''.join(lines)}{_FOOT % operations[-1].name}"


def plan_text(operations: list[Planned]) -> str:
    """Return `analytics.mil`: each operation with its backends, their estimates and the chosen one."""
    lines = [f"            {entry.to_mil()}[{_attributes(entry)}];\n" for entry in operations]
    return f"{_HEAD}{''.join(lines)}{_FOOT % operations[-1].name}"


def _attributes(entry: Planned) -> str:
    backends = (*_BACKENDS[:-1], "ane" if entry.supported else "unsupported")
    listed = ", ".join(f'"{name}"' for name in backends)
    estimates = {"bnns": "0.25", "classic_cpu": "0.5"} | ({"ane": "0.0625"} if entry.supported else {})
    pairs = ", ".join(f'{{"{name}", {cost}}}' for name, cost in estimates.items())
    parts = [
        f"BackendSupport = list<string, 5>([{listed}])",
        f"EstimatedRuntime = dict<string, fp64>({{{pairs}}})",
        f'SelectedBackend = string("{entry.backend}")',
    ]
    if entry.message:
        parts.append(f'ValidationMessage = dict<string, string>({{{{"ane", "{entry.message}"}}}})')
    return ", ".join([*parts, f'name = string("{entry.name}")'])
