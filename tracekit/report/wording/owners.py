"""The owners of intervals as English: why an interval is counted where it is."""

from __future__ import annotations

from tracekit.analysis.ownership.owners import OWNERS, REASONS, Owner, Reason

_OF_CALL = {
    Reason.CONTAINED: "it lies in this call only",
    Reason.MOST: "it begins in this call or most of it lies there, and it reaches beyond",
    Reason.LABEL_ALONE: "it fits several calls, and those of its name in one call only are of this model",
    Reason.SUBMITTED: "a stack of this call hands over work as it begins",
    Reason.ENGINE_SEEN: "it fits several calls, and this one alone shows the engine, on stacks or in the log",
}
_OF_OTHERS = {
    Reason.NAMED_PROCESS: "its table, a row of another one or the log names another process",
    Reason.LABEL: "its name is of no model of this app, or the app's stacks show no use of the engine",
    Reason.SUBMITTED: "a stack of another process hands over work as it begins",
}
_CONTESTED = {
    Reason.SEVERAL_CALLS: "it fits several calls, and nothing here decides between them",
    Reason.SECOND_USER: "other rows show another owner of such work, and no stack shows whose this is",
    Reason.DOUBTFUL: "there is doubt that it is work of this call, and no stack decides",
    Reason.NO_SUBMITTER: "no stack shows that this app used the engine for it",
}
_TEXTS = {
    Owner.CALL: _OF_CALL,
    Owner.PROCESS: {
        Reason.OUTSIDE: "it lies in no call, as a load, a warm-up or a call that no table has would"
    },
    Owner.OTHER: _OF_OTHERS,
    Owner.CONTESTED: _CONTESTED,
}
_NAMED = "it names this model, and lies in this call of it only"
_SEVERAL = "it lies in calls of one thread, one inside of the other"


def explain_owner(owner: int, reason: int, calls: int, is_named: int) -> str:
    """Return why an interval has its owner, from codes in ``OWNERS`` and ``REASONS``; "" for no work.

    ``calls`` is the number of calls that own it; ``is_named`` is true where it names their model.
    """
    if owner < 0:
        return ""
    if OWNERS[owner] is Owner.CALL and calls > 1:
        return _SEVERAL
    if is_named and REASONS[reason] is Reason.CONTAINED:
        return _NAMED
    return _TEXTS[OWNERS[owner]].get(REASONS[reason], "")
