# Rows, and the markup between them.

cdef Bytes row(State *s, Bytes p) noexcept nogil:
    """Read the row at ``p``; NULL when it is not of the subset."""
    cdef size_t column
    cdef int32_t slot = 0
    cdef Tag *tag = NULL
    p += 5
    for column in range(s.width):
        p = element(s, skip_blanks(p), 1, &slot, &tag)
        if p == NULL:
            return NULL
        append(&s.cells, slot)
    p = skip_blanks(p)
    return p + 6 if memcmp(p, b"</row>", 6) == 0 and s.mismatched_refs == 0 else NULL


cdef int scan(State *s) noexcept nogil:
    """Read rows up to ``ready``; return the kind of markup that comes next, with ``markup_end`` behind it."""
    cdef Bytes p = s.buffer + s.position
    cdef Bytes end = s.buffer + s.ready
    # Slots and positions in `children` are kept as int32.
    if s.slots.count + s.children.count > 0x40000000:
        return S_UNSUPPORTED
    if not reserve_for(s, s.filled - s.position):
        s.no_memory = True
        return S_UNSUPPORTED
    while True:
        p = skip_blanks(p)
        s.position = p - s.buffer
        if p >= end:
            return S_MORE
        if not (s.in_node and memcmp(p, b"<row>", 5) == 0):
            return markup(s, p)
        p = row(s, p)
        if p == NULL or s.no_memory:
            return S_UNSUPPORTED
        s.rows += 1
        s.all_rows += 1


cdef int markup(State *s, Bytes p) noexcept nogil:
    """Return the kind of markup at ``p`` and set ``markup_end``; no element of these kinds has another inside."""
    cdef Bytes end = s.buffer + s.filled
    cdef int kind
    if memcmp(p, b"</node>", 7) == 0:
        s.markup_end = s.position + 7
        return S_NODE_END
    if memcmp(p, b"</trace-query-result>", 21) == 0:
        s.markup_end = s.position + 21
        return S_END
    if memcmp(p, b"<node ", 6) == 0:
        kind = S_NODE
        while p < end and p[0] != c'>':
            p += 1
        p += 1
    elif memcmp(p, b"<schema ", 8) == 0:
        kind = S_SCHEMA
        while p < end and memcmp(p, b"</schema>", 9) != 0:
            p += 1
        p += 9
    elif memcmp(p, b"<?xml ", 6) == 0 or memcmp(p, b"<trace-query-result>", 20) == 0:
        kind = S_ROOT
        while p < end and memcmp(p, b"<trace-query-result>", 20) != 0:
            p += 1
        p += 20
    else:
        return S_UNSUPPORTED
    s.markup_end = p - s.buffer
    return kind if p <= end else S_UNSUPPORTED
