"""Begin and End of a stream → intervals, one at a time and with bounded state.

The rule is that of ``parsers/tables/signposts.py``: partners agree in name, subsystem, category and
identifier, and in process or thread as their scope requires; an End closes the latest open Begin. A stream
never ends, so here a Begin that stays open for too long, or is one of too many, counts as one without an
End.

In a log without identifiers, intervals of one name that overlap cannot be told apart: none of them is one,
until all are closed::

    Begin  Begin  End  Begin  End  End    Begin  End
    └──── whose End is whose? ───────┘    └ interval
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

SignpostKind: TypeAlias = Literal["begin", "end", "event"]

NO_IDENTIFIER = -1
"""Of a signpost in a log that has no identifiers; that of one without any is 0."""
MAX_OPEN = 4_000
"""Limit on the Begins that wait for their End: with names of any length, some megabytes."""
MAX_OPEN_NS = 600 * 10**9
"""Chosen limit on the length of an interval: ten minutes."""
_ANYWHERE = -2
_Key: TypeAlias = tuple[str, str, str, int, int, int]


class Signpost(NamedTuple):
    """The part of a log's entry that is a signpost's alone."""

    kind: SignpostKind
    name: str
    identifier: int
    scope: str


class PlacedSignpost(NamedTuple):
    """A signpost at its time in the stream, with its process and thread; -1 is unknown."""

    time_ns: int
    signpost: Signpost
    subsystem: str
    category: str
    pid: int
    tid: int
    process: str
    message: str

    @property
    def key(self) -> _Key:
        """What a Begin and its End have in common."""
        _, (_, name, identifier, scope), subsystem, category, pid, tid, _, _ = self
        return (
            name,
            subsystem,
            category,
            identifier,
            _ANYWHERE if scope == "system" else pid,
            tid if scope == "thread" else _ANYWHERE,
        )


class SignpostInterval(NamedTuple):
    """A Begin and its End."""

    start_ns: int
    end_ns: int
    begin: PlacedSignpost


class SignpostPairing:
    """Pairs the signposts of a stream that come in about the order of time.

    ``without_end`` and ``without_begin`` count those that never found a partner, ``overlapping`` those of
    which nothing shows it.
    """

    def __init__(self) -> None:
        self._open: dict[_Key, list[PlacedSignpost]] = {}
        self._count = 0
        self.without_end = 0
        self.without_begin = 0
        self.overlapping = 0
        self._crowds: set[_Key] = set()
        """Of several Begins without an identifier that were open at once."""
        self.given_up: list[PlacedSignpost] = []

    def __len__(self) -> int:
        """Return the number of Begins that are open."""
        return self._count

    def add(self, mark: PlacedSignpost) -> SignpostInterval | None:
        """Return the interval that an End closes; None for anything else."""
        kind = mark.signpost.kind
        if kind == "event":
            return None
        key = mark.key
        begins = self._open.get(key)
        if kind == "begin":
            if begins is None:
                self._open[key] = [mark]
            else:
                begins.append(mark)
                if mark.signpost.identifier == NO_IDENTIFIER:
                    self._crowds.add(key)
                if begins[-2].time_ns > mark.time_ns:  # it came late
                    begins.sort(key=lambda begin: begin.time_ns)
            self._count += 1
            return None
        if key in self._crowds:
            self._give_up_one(key)
            return None
        for position in range(len(begins or ()) - 1, -1, -1):
            assert begins
            begin = begins[position]
            if begin.time_ns <= mark.time_ns:
                del begins[position]
                if not begins:
                    del self._open[key]
                self._count -= 1
                return SignpostInterval(begin.time_ns, mark.time_ns, begin)
        self.without_begin += 1
        return None

    def take_given_up(self) -> list[PlacedSignpost]:
        """Return the Begins that were given up since the last time: whose End came is not known."""
        given_up, self.given_up = self.given_up, []
        return given_up

    def _give_up_one(self, key: _Key) -> None:
        begins = self._open[key]
        self.given_up.append(begins.pop(0))
        self._count -= 1
        self.overlapping += 1
        if not begins:
            del self._open[key]
            self._crowds.discard(key)

    def drop_overdue(self, now_ns: int) -> list[PlacedSignpost]:
        """Drop and return the Begins that have waited too long, and the oldest of too many."""
        dropped: list[PlacedSignpost] = []
        while self._open:
            key, begins = next(iter(self._open.items()))
            if self._count < MAX_OPEN and now_ns - begins[0].time_ns <= MAX_OPEN_NS:
                break
            dropped.append(begins.pop(0))
            self._count -= 1
            if begins:
                # Its next Begin is younger than those of other keys: it goes behind them.
                self._open[key] = self._open.pop(key)
            else:
                del self._open[key]
                self._crowds.discard(key)
        self.without_end += len(dropped)
        return dropped

    def drop_all(self) -> list[PlacedSignpost]:
        """Drop and return every open Begin: what comes next has nothing to do with it."""
        dropped = [begin for begins in self._open.values() for begin in begins]
        self._open.clear()
        self._crowds.clear()
        self._count = 0
        self.without_end += len(dropped)
        return dropped
