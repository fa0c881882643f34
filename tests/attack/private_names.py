"""Random private names, and random spellings of them. Nothing is shared with the code that removes them."""

from __future__ import annotations

import random
import unicodedata
from dataclasses import dataclass

_VOWELS = ("a", "e", "i", "o", "u", "é", "ü", "á")
_RARE = ("qx", "zv", "xj", "vq", "jz", "qz")
"""Pairs of letters that no word of a report has, so that a hit is a name."""
_CONSONANTS = "bdfgklmnprstvz"
_PRODUCTS = ("MacBook Pro", "Mac mini", "iPhone", "iPad (2)")
_APOSTROPHES = "’'‘ʼ"


@dataclass(frozen=True)
class Secrets:
    """Names that no output may contain in any spelling."""

    users: tuple[str, ...]
    device: str
    processes: tuple[str, ...]
    listed_process: str
    """A process that only the table of contents names."""
    volume: str

    def everything(self) -> tuple[str, ...]:
        return (*self.users, self.device, *self.processes, self.listed_process, self.volume)


def random_secrets(dice: random.Random) -> Secrets:
    users = [_user(dice) for _ in range(dice.choice((1, 1, 2)))]
    owner = dice.choice((users[0].title(), _name(dice).title()))
    product = dice.choice(_PRODUCTS)
    device = dice.choice(
        (f"{owner}{dice.choice(_APOSTROPHES)}s {product}", f"{product} von {owner}", f"{owner}-Mac")
    )
    processes = [_process(dice) for _ in range(dice.randint(1, 3))]
    volume = dice.choice((f"{_name(dice).title()} Disk", f"Disk of {_name(dice)}"))
    return Secrets(tuple(users), device, tuple(processes), _process(dice), volume)


def _name(dice: random.Random) -> str:
    syllables = [dice.choice(_CONSONANTS) + dice.choice(_VOWELS) for _ in range(dice.randint(2, 4))]
    syllables.insert(dice.randint(0, len(syllables)), dice.choice(_RARE))
    return "".join(syllables)


def _user(dice: random.Random) -> str:
    name = _name(dice)
    separator = dice.choice(("", "", "", ".", "_", "-", " ", "’", "'"))
    return f"{name}{separator}{_name(dice)}" if separator else name + dice.choice(("", "", "7"))


def _process(dice: random.Random) -> str:
    name = _name(dice)
    return dice.choice(
        (name, name.title(), f"{name.title()} {_name(dice).title()}", f"com.{name}.{_name(dice)}", f"{name}d")
    )


def spelled(dice: random.Random, name: str, *, escapes: bool = True) -> str:
    """Return a name in a random case, with random separators, composed or not, escaped up to three times."""
    text = _separated(dice, name) if dice.random() < 0.5 else name
    text = dice.choice((str, str, str.upper, str.lower, str.title, _any_case(dice)))(text)
    text = unicodedata.normalize(dice.choice(("NFC", "NFD")), text)
    return escaped(dice, text) if escapes else text


def _any_case(dice: random.Random):  # type: ignore[no-untyped-def]
    return lambda text: "".join(dice.choice((character.upper(), character.lower())) for character in text)


def _separated(dice: random.Random, name: str) -> str:
    """Return a name with other characters between its words: those of host names, file names, addresses."""
    separator = dice.choice((" ", "_", "-", ".", "\u00a0", "+", ""))
    apostrophe = dice.choice((*_APOSTROPHES, ""))
    return "".join(
        apostrophe if character in _APOSTROPHES else separator if character in " _-." else character
        for character in name
    )


def home(dice: random.Random, user: str) -> str:
    """Return the home folder of a user in a random spelling, with a path in it."""
    slash = dice.choice(("/", "/", "/", "//", "/./", "\\", "\\\\"))
    root = dice.choice(("Users", "Users", "Users", "users", "USERS", "home"))
    name = unicodedata.normalize(dice.choice(("NFC", "NFD")), user)
    text = f"{slash}{root}{slash}{name}{slash}{dice.choice(('x', 'Library/Caches', '.zshrc'))}"
    prefix = dice.choice(
        ("", "", "file://", "/Volumes/Data", "/System/Volumes/Data", "C:" if "\\" in slash else "")
    )
    text = prefix + text
    if root == "Users" and dice.random() < 0.2:
        text = text.upper()
    return escaped(dice, text)


def file_of(dice: random.Random, user: str) -> str:
    """Return the name of a file or folder which a user's name is a part of."""
    text = dice.choice(
        (
            f"lib{user}.dylib",
            f"/opt/my{user}/x",
            f"/opt/{user}tool/x.mlmodelc",
            f"{user}tool.app",
            f"@rpath/x{user}.framework/y",
        )
    )
    return escaped(dice, text)


def volume_path(dice: random.Random, volume: str) -> str:
    text = f"{dice.choice(('', 'file://'))}/Volumes/{volume}/{dice.choice(('x', 'Builds/lib.dylib'))}"
    return escaped(dice, text)


def escaped(dice: random.Random, text: str) -> str:
    for _ in range(dice.choice((0, 0, 1, 1, 2, 3))):
        escape = dice.choice((_percent, _entity, _unit, _json_slash, _hex, _octal))
        everything = dice.random() < 0.2
        text = "".join(
            escape(character)
            if everything or not (character.isascii() and character.isalnum())
            else character
            for character in text
        )
    return text


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _entity(character: str) -> str:
    return f"&#x{ord(character):X};" if ord(character) % 2 else f"&#{ord(character)};"


def _unit(character: str) -> str:
    return "".join(f"\\u{unit:04x}" for unit in memoryview(character.encode("utf-16-le")).cast("H"))


def _json_slash(character: str) -> str:
    return f"\\{character}" if character in "/\\\"'" else character


def _hex(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode())
