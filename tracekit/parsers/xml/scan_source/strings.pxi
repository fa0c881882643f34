# Strings, each once: a hash table over an arena of bytes; entities and characters.

cdef inline uint64_t hash_of(uint64_t seed, Bytes text, size_t length) noexcept nogil:
    """Hash bytes, which are followed by as many as are loaded beyond them."""
    cdef uint64_t result = seed ^ length
    while length > 16:
        result = mix(load64(text) ^ SECRET, load64(text + 8) ^ result)
        text += 16
        length -= 16
    if length >= 8:
        return mix(load64(text) ^ SECRET, load64(text + length - 8) ^ result)
    if length:
        return mix((load64(text) << (64 - 8 * length)) ^ SECRET, result)
    return mix(SECRET, result)


cdef int grow_table(State *s) noexcept nogil:
    cdef size_t size = (s.table_mask + 1) * 2
    cdef uint64_t *table = <uint64_t *>calloc(size, sizeof(uint64_t))
    cdef size_t entry, place
    if table == NULL:
        return 0
    for entry in range(s.table_mask + 1):
        if s.table[entry]:
            place = (s.table[entry] >> 32) & (size - 1)
            while table[place]:
                place = (place + 1) & (size - 1)
            table[place] = s.table[entry]
    free(s.table)
    s.table = table
    s.table_mask = size - 1
    return 1


cdef inline bint same_bytes(Bytes left, Bytes right, size_t length) noexcept nogil:
    """Compare bytes; both are followed by as many as are loaded beyond them."""
    while length >= 8:
        if load64(left) != load64(right):
            return False
        left, right, length = left + 8, right + 8, length - 8
    return length == 0 or (load64(left) ^ load64(right)) << (64 - 8 * length) == 0


cdef int32_t intern(State *s, Bytes text, size_t length) noexcept nogil:
    """Return the row of a string, which is added if it is new; -1 without memory or room for another string."""
    cdef uint64_t hashed = hash_of(s.seed, text, length) >> 32
    cdef size_t place = hashed & s.table_mask
    cdef int64_t *offsets = <int64_t *>s.offsets.data[0]
    cdef size_t string
    # The upper half of an entry is the hash, so most other strings are passed over without a look at their bytes.
    while s.table[place]:
        if s.table[place] >> 32 == hashed:
            string = (s.table[place] & 0xffffffffu) - 1
            if (
                <size_t>(offsets[string + 1] - offsets[string]) == length
                and same_bytes(s.arena.data[0] + offsets[string], text, length)
            ):
                return <int32_t>string
        place = (place + 1) & s.table_mask
    string = s.offsets.count - 1
    if string >= 0x40000000:
        return -1
    if not (reserve(&s.offsets, 1) and reserve(&s.arena, length + 8)):
        s.no_memory = True
        return -1
    memcpy(s.arena.data[0] + s.arena.count, text, length)
    s.arena.count += length
    set64(&s.offsets, 0, s.offsets.count, s.arena.count)
    s.offsets.count += 1
    s.table[place] = hashed << 32 | (string + 1)
    if string * 2 > s.table_mask and not grow_table(s):
        s.no_memory = True
        return -1
    return <int32_t>string


cdef int32_t intern_span(State *s, Span *span) noexcept nogil:
    """Intern a piece of the document, its entities replaced (`entity` has checked them before)."""
    cdef Bytes p = span.start
    cdef Bytes end = p + span.length
    cdef uint8_t *out = s.scratch.data[0]
    cdef size_t n = 0
    if not span.escaped:
        return intern(s, p, span.length)
    # An entity is longer than its character, so the text fits into as many bytes as `reserve_for` made room for.
    while p < end:
        if p[0] == c'&':
            out[n] = c'<' if p[1] == c'l' else c'>' if p[1] == c'g' else c'"' if p[1] == c'q' else (
                c'&' if p[2] == c'm' else c"'")
            p += entity(p)
        else:
            out[n] = p[0]
            p += 1
        n += 1
    return intern(s, out, n)


cdef inline int entity(Bytes p) noexcept nogil:
    """Return the length of one of the five entities at ``p``, 0 for anything else."""
    if memcmp(p, b"&lt;", 4) == 0 or memcmp(p, b"&gt;", 4) == 0:
        return 4
    if memcmp(p, b"&amp;", 5) == 0:
        return 5
    if memcmp(p, b"&quot;", 6) == 0 or memcmp(p, b"&apos;", 6) == 0:
        return 6
    return 0


cdef inline int utf8(Bytes p) noexcept nogil:
    """Return the length of the character of two or more bytes at ``p``, 0 when XML has no such character."""
    cdef uint32_t code
    if p[0] < 0xc2 or (p[1] & 0xc0) != 0x80:
        return 0
    if p[0] < 0xe0:
        return 2
    if (p[2] & 0xc0) != 0x80:
        return 0
    if p[0] < 0xf0:
        code = ((p[0] & 0x0fu) << 12) | ((p[1] & 0x3fu) << 6) | (p[2] & 0x3fu)
        return 3 if 0x800 <= code < 0xd800 or 0xe000 <= code < 0xfffe else 0
    if p[0] > 0xf4 or (p[3] & 0xc0) != 0x80:
        return 0
    code = ((p[0] & 0x07u) << 18) | ((p[1] & 0x3fu) << 12) | ((p[2] & 0x3fu) << 6) | (p[3] & 0x3fu)
    return 4 if 0x10000 <= code < 0x110000 else 0
