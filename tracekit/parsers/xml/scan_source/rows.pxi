# Rows, and the markup between them.

cdef Bytes row(State *s, Bytes p) noexcept nogil:
    cdef size_t column
    cdef int32_t slot = 0
    cdef Tag *tag = NULL
    p += 5
    for column in range(s.width):
        p = element(s, blank(s, p), 1, &slot, &tag)
        if p == NULL:
            return NULL
        append(&s.cells, slot)
    p = blank(s, p)
    return p + 6 if memcmp(p, b"</row>", 6) == 0 and s.strange_refs == 0 else NULL


cdef void mark(State *s, Marks *marks) noexcept nogil:
    marks.slots, marks.children, marks.cells = s.slots.count, s.children.count, s.cells.count
    marks.fmts, marks.frames, marks.binaries = s.fmts.count, s.frames.count, s.binaries.count
    marks.strings, marks.arena, marks.lines = s.offsets.count, s.arena.count, s.lines
    marks.tags = s.tag_count


cdef void take_back(State *s, Marks *marks) noexcept nogil:
    """Forget everything since ``marks``. The table of strings still knows those: nothing may be added afterwards."""
    s.slots.count, s.children.count, s.cells.count = marks.slots, marks.children, marks.cells
    s.fmts.count, s.frames.count, s.binaries.count = marks.fmts, marks.frames, marks.binaries
    s.offsets.count, s.arena.count = marks.strings, marks.arena
    s.lines, s.tag_count, s.strange_refs = marks.lines, marks.tags, 0


cdef int scan(State *s) noexcept nogil:
    """Read rows up to ``ready``; return what else was met, with ``item`` behind it."""
    cdef Bytes p = s.buffer + s.at
    cdef Bytes end = s.buffer + s.ready
    cdef Bytes after
    cdef Marks marks
    if s.slots.count + s.children.count > 0x40000000:
        return S_STRANGE
    if not reserve_for(s, s.filled - s.at):
        s.no_memory = True
        return S_STRANGE
    while True:
        p = blank(s, p)
        s.at = p - s.buffer
        if p >= end:
            return S_MORE
        if not (s.in_node and memcmp(p, b"<row>", 5) == 0):
            return markup(s, p)
        mark(s, &marks)
        after = row(s, p)
        if after == NULL or s.no_memory:
            take_back(s, &marks)
            return S_STRANGE
        p = after
        s.rows += 1
        s.rows_ever += 1


cdef int markup(State *s, Bytes p) noexcept nogil:
    cdef Bytes end = s.buffer + s.filled
    cdef int found
    if memcmp(p, b"</node>", 7) == 0:
        s.item = s.at + 7
        return S_NODE_END
    if memcmp(p, b"</trace-query-result>", 21) == 0:
        s.item = s.at + 21
        return S_END
    if memcmp(p, b"<node ", 6) == 0:
        found = S_NODE
        while p < end and p[0] != c'>':
            p += 1
        p += 1
    elif memcmp(p, b"<schema ", 8) == 0:
        found = S_SCHEMA
        while p < end and memcmp(p, b"</schema>", 9) != 0:
            p += 1
        p += 9
    elif memcmp(p, b"<?xml ", 6) == 0 or memcmp(p, b"<trace-query-result>", 20) == 0:
        found = S_ROOT
        while p < end and memcmp(p, b"<trace-query-result>", 20) != 0:
            p += 1
        p += 20
    else:
        return S_STRANGE
    s.item = p - s.buffer
    return found if p <= end else S_STRANGE
