# Frames and binaries, whose values are attributes.

cdef bint hexadecimal(Span *span, uint64_t *result) noexcept nogil:
    """Read ``0x1f``; False for anything else."""
    cdef uint64_t value = 0
    cdef size_t at
    cdef uint8_t digit, all_digits = 0
    if not (2 < span.length <= 18 and span.start[0] == c'0' and span.start[1] == c'x'):
        return False
    for at in range(2, span.length):
        digit = HEX[span.start[at]]
        all_digits |= digit
        value = value << 4 | (digit & 15u)
    result[0] = value
    return all_digits < 16


cdef int32_t intern_or_empty(State *s, Span *spans, int has, int bit, int at) noexcept nogil:
    return intern_span(s, &spans[at]) if has & bit else intern(s, s.scratch.data[0], 0)


cdef Bytes frame(
    State *s, Tag *tag, size_t own, Span *spans, int has, Bytes p, bint content, int depth
) noexcept nogil:
    """Read what is inside a frame and store its attributes."""
    cdef uint64_t address = 0
    cdef int32_t name, child = 0
    cdef int32_t binary_slot = 0
    cdef int32_t path = 0
    cdef int32_t line = -1
    cdef size_t at
    cdef Tag *of_child = NULL
    if content:
        p = blank(s, p)
        if p[1] == c'/':  # white space, if any, would be its text
            return NULL
        while not (p[0] == c'<' and p[1] == c'/'):
            if memcmp(p, b"<source", 7) == 0 and ends_name(p[7]):
                p = source(s, p + 7, &line, &path, depth)
            else:
                p = element(s, p, depth + 1, &child, &of_child)
                binary_slot = child
                if p != NULL and of_child.kind != BINARY:
                    return NULL
            if p == NULL:
                return NULL
            p = blank(s, p)
        p = end_tag(tag, p)
        if p == NULL:
            return NULL
    if has & ADDR and not hexadecimal(&spans[2], &address):
        return NULL
    name = intern_or_empty(s, spans, has, NAME, 1)
    if name < 0:
        return NULL
    at = s.frames.count
    set32(&s.frames, F_SLOT, at, <int32_t>own)
    set32(&s.frames, F_NAME, at, name)
    set64(&s.frames, F_ADDRESS, at, address)
    s.frames.data[F_INLINED][at] = (
        has & INLINED and spans[3].length == 4 and memcmp(spans[3].start, b"true", 4) == 0
    )
    set32(&s.frames, F_LINE, at, line)
    set32(&s.frames, F_PATH, at, path)
    set32(&s.frames, F_BINARY, at, binary_slot)
    s.frames.count += 1
    return p


cdef Bytes source(State *s, Bytes p, int32_t *line, int32_t *path, int depth) noexcept nogil:
    """Read `` line="7"><path …>…</path></source>``, which has no id."""
    cdef uint64_t value = 0
    cdef Tag *of_child = NULL
    line[0] = -1
    path[0] = 0
    if memcmp(p, b' line="', 7) == 0:
        p += 7
        if p[0] == c'0' and p[1] == c'"':
            p += 1
        else:
            p = number_to_quote(p, &value)
        if p == NULL or p[0] != c'"':
            return NULL
        line[0] = <int32_t>value if value < 0x80000000u else -1
        p += 1
    if p[0] == c'/' and p[1] == c'>':
        return p + 2
    if p[0] != c'>':
        return NULL
    p = blank(s, p + 1)
    if not (p[0] == c'<' and p[1] == c'/'):
        p = element(s, p, depth + 1, path, &of_child)
        if p == NULL or of_child.length != 4 or memcmp(of_child.name, b"path", 4) != 0:
            return NULL
        p = blank(s, p)
    return p + 9 if memcmp(p, b"</source>", 9) == 0 else NULL


cdef bint binary(State *s, size_t own, Span *spans, int has) noexcept nogil:
    cdef uint64_t load = 0
    cdef int32_t name, path, uuid, arch
    cdef size_t at
    if has & LOAD_ADDR and not hexadecimal(&spans[6], &load):
        return False
    name = intern_or_empty(s, spans, has, NAME, 1)
    path = intern_or_empty(s, spans, has, PATH, 7)
    uuid = intern_or_empty(s, spans, has, UUID, 4)
    arch = intern_or_empty(s, spans, has, ARCH, 5)
    if name < 0 or path < 0 or uuid < 0 or arch < 0:
        return False
    at = s.binaries.count
    set32(&s.binaries, B_SLOT, at, <int32_t>own)
    set32(&s.binaries, B_NAME, at, name)
    set32(&s.binaries, B_PATH, at, path)
    set32(&s.binaries, B_UUID, at, uuid)
    set32(&s.binaries, B_ARCH, at, arch)
    set64(&s.binaries, B_LOAD, at, load)
    s.binaries.count += 1
    return True
