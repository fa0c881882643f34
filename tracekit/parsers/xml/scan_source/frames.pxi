# Frames and binaries: elements whose values are attributes.

cdef bint hexadecimal(Span *span, uint64_t *result) noexcept nogil:
    """Read ``0x1f``; False for anything else."""
    cdef uint64_t value = 0
    cdef size_t index
    cdef uint8_t digit, all_digits = 0
    if not (2 < span.length <= 18 and span.start[0] == c'0' and span.start[1] == c'x'):
        return False
    for index in range(2, span.length):
        digit = HEX[span.start[index]]
        all_digits |= digit
        value = value << 4 | (digit & 15u)
    result[0] = value
    return all_digits < 16


cdef int32_t intern_or_empty(State *s, Span *spans, int present, int bit, int index) noexcept nogil:
    """Return the row of an attribute's text; that of "" where the element has no such attribute."""
    return intern_span(s, &spans[index]) if present & bit else intern(s, s.scratch.data[0], 0)


cdef Bytes frame(
    State *s, Tag *tag, size_t slot, Span *spans, int present, Bytes p, bint content, int depth
) noexcept nogil:
    """Read the content of a frame, then store its attributes."""
    cdef uint64_t address = 0
    cdef int32_t name, child = 0
    cdef int32_t binary_slot = 0
    cdef int32_t path = 0
    cdef int32_t line = -1
    cdef size_t index
    cdef Tag *child_tag = NULL
    if content:
        p = skip_blanks(p)
        if p[1] == c'/':  # <frame …></frame>: white space between the two would be its text
            return NULL
        while not (p[0] == c'<' and p[1] == c'/'):
            if memcmp(p, b"<source", 7) == 0 and ends_name(p[7]):
                p = source(s, p + 7, &line, &path, depth)
            else:
                p = element(s, p, depth + 1, &child, &child_tag)
                binary_slot = child
                if p != NULL and child_tag.kind != BINARY:
                    return NULL
            if p == NULL:
                return NULL
            p = skip_blanks(p)
        p = end_tag(tag, p)
        if p == NULL:
            return NULL
    if present & ADDR and not hexadecimal(&spans[2], &address):
        return NULL
    name = intern_or_empty(s, spans, present, NAME, 1)
    if name < 0:
        return NULL
    index = s.frames.count
    set32(&s.frames, F_SLOT, index, <int32_t>slot)
    set32(&s.frames, F_NAME, index, name)
    set64(&s.frames, F_ADDRESS, index, address)
    s.frames.data[F_INLINED][index] = (
        present & INLINED and spans[3].length == 4 and memcmp(spans[3].start, b"true", 4) == 0
    )
    set32(&s.frames, F_LINE, index, line)
    set32(&s.frames, F_PATH, index, path)
    set32(&s.frames, F_BINARY, index, binary_slot)
    s.frames.count += 1
    return p


cdef Bytes source(State *s, Bytes p, int32_t *line, int32_t *path, int depth) noexcept nogil:
    """Read `` line="7"><path …>…</path></source>``, an element without an id."""
    cdef uint64_t value = 0
    cdef Tag *child_tag = NULL
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
    p = skip_blanks(p + 1)
    if not (p[0] == c'<' and p[1] == c'/'):
        p = element(s, p, depth + 1, path, &child_tag)
        if p == NULL or child_tag.length != 4 or memcmp(child_tag.name, b"path", 4) != 0:
            return NULL
        p = skip_blanks(p)
    return p + 9 if memcmp(p, b"</source>", 9) == 0 else NULL


cdef bint binary(State *s, size_t slot, Span *spans, int present) noexcept nogil:
    """Store the attributes of a binary; False when one is not of the subset."""
    cdef uint64_t load = 0
    cdef int32_t name, path, uuid, arch
    cdef size_t index
    if present & LOAD_ADDR and not hexadecimal(&spans[6], &load):
        return False
    name = intern_or_empty(s, spans, present, NAME, 1)
    path = intern_or_empty(s, spans, present, PATH, 7)
    uuid = intern_or_empty(s, spans, present, UUID, 4)
    arch = intern_or_empty(s, spans, present, ARCH, 5)
    if name < 0 or path < 0 or uuid < 0 or arch < 0:
        return False
    index = s.binaries.count
    set32(&s.binaries, B_SLOT, index, <int32_t>slot)
    set32(&s.binaries, B_NAME, index, name)
    set32(&s.binaries, B_PATH, index, path)
    set32(&s.binaries, B_UUID, index, uuid)
    set32(&s.binaries, B_ARCH, index, arch)
    set64(&s.binaries, B_LOAD, index, load)
    s.binaries.count += 1
    return True
