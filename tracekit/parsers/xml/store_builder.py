"""Fills a ``ValueStore`` from elements, one row at a time."""

from __future__ import annotations

from array import array

import numpy as np
from lxml import etree

from tracekit.parsers.xml.value_store import (
    FMT_TAGS,
    SENTINEL,
    STACK_FMT_TAGS,
    BinaryColumns,
    FmtColumns,
    FrameColumns,
    ValueForm,
    ValueStore,
    make_array,
)

_MAX_UINT64 = 2**64 - 1
_MAX_TAGS = 2**16 - 1


class CellError(ValueError):
    """A cell with a dangling ref, a duplicate id, or a ref to another kind of element."""


class StoreBuilder:
    """Collects the values of one document; ``add`` returns the slot of an element or of the one it refers to.

    Values are copied, so the caller may clear the elements afterwards.
    """

    def __init__(self) -> None:
        self._tag_codes: dict[str, int] = {"sentinel": 0}
        self._string_ids: dict[str, int] = {}
        # As long as ids are dense, id == slot, and no map is needed; the first other id creates it.
        self._slot_of_id: dict[str, int] | None = None
        self._tag = array("H", [0])
        self._form = array("B", [ValueForm.NONE])
        self._value = array("Q", [0])
        self._fmts = (array("i"), array("i"))
        self._children = array("i")
        self._frames: tuple[array[int], ...] = tuple(array(code) for code in "iiQBiii")
        self._binaries: tuple[array[int], ...] = tuple(array(code) for code in "iiiiiQ")

    def add(self, element: etree._Element) -> int:
        """Store ``element`` and everything below it; return its slot.

        Raises ``CellError`` for a reference that does not resolve or an id that was used before.
        """
        ref = element.get("ref")
        if ref is not None:
            return self._resolve_ref(ref, element.tag)
        if element.tag == "sentinel":
            return SENTINEL
        slot = self._add_slot(element)
        if element.tag == "frame":
            self._add_frame(slot, element)
        elif element.tag == "binary":
            self._add_binary(slot, element)
        elif len(element):
            self._set_children(slot, [self.add(child) for child in element if isinstance(child.tag, str)])
        return slot

    def _resolve_ref(self, ref: str, tag: str) -> int:
        if self._slot_of_id is None:
            slot = int(ref) if ref.isdecimal() and len(ref) < 12 else 0
            slot = slot if 0 < slot < len(self._tag) else 0
        else:
            slot = self._slot_of_id.get(ref, 0)
        if slot == 0:
            raise CellError(f"<{tag} ref='{ref}'/> refers to an id that was not defined before it")
        if self._tag[slot] != self._tag_codes.get(tag, -1):
            target = next(name for name, code in self._tag_codes.items() if code == self._tag[slot])
            raise CellError(f"<{tag} ref='{ref}'/> refers to a <{target}>")
        return slot

    def _add_slot(self, element: etree._Element) -> int:
        slot = len(self._tag)
        self._register_id(element.get("id"), slot)
        tag = element.tag
        code = self._tag_codes.setdefault(tag, len(self._tag_codes))
        if code > _MAX_TAGS:
            raise CellError(f"it holds more than {_MAX_TAGS} kinds of elements")
        form, value = self._decode_value(element)
        self._tag.append(code)
        self._form.append(form)
        self._value.append(value)
        fmt = element.get("fmt") if tag in FMT_TAGS or _is_of_addresses(element) else None
        if fmt is not None:
            self._fmts[0].append(slot)
            self._fmts[1].append(self._add_string(fmt))
        return slot

    def _register_id(self, identifier: str | None, slot: int) -> None:
        if self._slot_of_id is None:
            if identifier == str(slot):
                return
            self._slot_of_id = {str(earlier): earlier for earlier in range(1, slot)}
        if identifier is None:
            return
        if identifier in self._slot_of_id:
            raise CellError(f"the id '{identifier}' is defined twice")
        self._slot_of_id[identifier] = slot

    def _decode_value(self, element: etree._Element) -> tuple[int, int]:
        text = element.text
        if text is None or (len(element) and not text.strip()):
            return ValueForm.NONE, 0
        if "\n" in text and text.strip().isdecimal():  # a number in a re-indented document
            text = text.strip()
        if text.isdecimal() and text.isascii():
            if (
                (text[0] != "0" or len(text) == 1)
                and len(text) <= 20
                and (number := int(text)) <= _MAX_UINT64
            ):
                return ValueForm.INT, number
        elif (
            text[0] == "-" and text[1:].isdecimal() and text.isascii() and text[1] != "0" and len(text) <= 20
        ):
            number = int(text)
            if number >= -(2**63):
                return ValueForm.NEGATIVE, number + 2**64
        return ValueForm.TEXT, self._add_string(text)

    def _add_string(self, text: str) -> int:
        return self._string_ids.setdefault(text, len(self._string_ids))

    def _set_children(self, slot: int, children: list[int]) -> None:
        self._form[slot] = ValueForm.CHILDREN
        self._value[slot] = len(self._children) << 32 | len(children)
        self._children.extend(children)

    def _add_frame(self, slot: int, element: etree._Element) -> None:
        binary = path = 0
        line = -1
        for child in element:
            if child.tag == "binary":
                binary = self.add(child)
            elif child.tag == "source":
                line = _parse_integer(child.get("line"), "source line", -1)
                line = line if line < 2**31 else -1
                path = next((self.add(inner) for inner in child if inner.tag == "path"), 0)
            elif isinstance(child.tag, str):
                self.add(child)  # later elements may refer to ids in it
        record = (
            slot,
            self._add_string(element.get("name", "")),
            _parse_integer(element.get("addr"), "frame addr"),
            element.get("inlined") == "true",
            line,
            path,
            binary,
        )
        for column, value in zip(self._frames, record, strict=True):
            column.append(value)

    def _add_binary(self, slot: int, element: etree._Element) -> None:
        texts = [self._add_string(element.get(name, "")) for name in ("name", "path", "UUID", "arch")]
        record = (slot, *texts, _parse_integer(element.get("load-addr"), "binary load-addr"))
        for column, value in zip(self._binaries, record, strict=True):
            column.append(value)

    def build(self) -> ValueStore:
        """Return the store; the builder must not be used afterwards."""
        slot, name, address, inlined, line, path, binary = self._frames
        binary_slot, binary_name, binary_path, uuid, arch, load_address = self._binaries
        i32 = np.int32
        return ValueStore(
            tags=tuple(self._tag_codes),
            strings=tuple(self._string_ids),
            tag=make_array(self._tag, np.uint16),
            form=make_array(self._form, np.uint8),
            value=make_array(self._value, np.uint64),
            fmts=FmtColumns(*(make_array(column, i32) for column in self._fmts)),
            children=make_array(self._children, i32),
            frames=FrameColumns(
                slot=make_array(slot, i32),
                name=make_array(name, i32),
                address=make_array(address, np.uint64),
                inlined=make_array(inlined, np.bool_),
                source_line=make_array(line, i32),
                source_path=make_array(path, i32),
                binary=make_array(binary, i32),
            ),
            binaries=BinaryColumns(
                slot=make_array(binary_slot, i32),
                name=make_array(binary_name, i32),
                path=make_array(binary_path, i32),
                uuid=make_array(uuid, i32),
                arch=make_array(arch, i32),
                load_address=make_array(load_address, np.uint64),
            ),
        )


def _is_of_addresses(element: etree._Element) -> bool:
    """Return whether an element is a backtrace without frames."""
    if element.tag not in STACK_FMT_TAGS:
        return False
    first_tag = next((child.tag for child in element if isinstance(child.tag, str)), "")
    return first_tag not in ("frame", "backtrace")


def _parse_integer(text: str | None, name: str, default: int = 0) -> int:
    """Return a decimal or 0x… number; raise ``CellError`` unless it is unsigned and has 64 bits."""
    if text is None:
        return default
    try:
        number = int(text, 16 if text[:2] in ("0x", "0X") else 10)
    except ValueError:
        number = -1
    if not 0 <= number <= _MAX_UINT64:
        raise CellError(f"the {name} '{text[:40]}' is not a 64-bit number")
    return number
