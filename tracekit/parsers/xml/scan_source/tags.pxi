# Tags: the code of an element's name, and its kind.

cdef inline bint is_named(Tag *tag, Bytes p) noexcept nogil:
    """Return whether the name of ``tag`` begins at ``p``; the caller checks the byte behind it."""
    if (load64(p) ^ tag.head) & tag.mask:
        return False
    if tag.length <= 8:
        return True
    if tag.length <= 16:
        return load64(p + tag.length - 8) == tag.tail
    return memcmp(p + 8, tag.name + 8, tag.length - 8) == 0


cdef inline bint ends_name(uint8_t c) noexcept nogil:
    return c == c' ' or c == c'/' or c == c'>'


cdef inline Tag *tag_at(State *s, Bytes p) noexcept nogil:
    """Return the tag whose name is at ``p``; NULL when that is not a name of the subset."""
    # 10 bits of a hash, for TAG_CACHE entries. An export has some forty names, so the cached tag is mostly the one.
    cdef size_t place = (load64(p) * SECRET) >> 54
    cdef Tag *tag = &s.tags[s.cache[place]]
    if is_named(tag, p) and ends_name(p[tag.length]):
        return tag
    return find_or_add_tag(s, p, place)


cdef Tag *find_or_add_tag(State *s, Bytes p, size_t place) noexcept nogil:
    cdef size_t length = 0
    cdef int code
    cdef Tag *tag
    while (
        c'a' <= p[length] <= c'z' or c'A' <= p[length] <= c'Z' or p[length] == c'_'
        or (length and (c'0' <= p[length] <= c'9' or p[length] == c'-' or p[length] == c'.'))
    ):
        length += 1
        if length > MAX_NAME:
            return NULL
    if length == 0 or not ends_name(p[length]):
        return NULL
    for code in range(s.tag_count):
        tag = &s.tags[code]
        if tag.length == length and memcmp(tag.name, p, length) == 0:
            s.cache[place] = <uint8_t>code
            return tag
    if s.tag_count == MAX_TAGS or is_reserved(p, length):
        return NULL
    tag = new_tag(s, p, length)
    s.cache[place] = tag.code
    return tag


cdef bint is_reserved(Bytes p, size_t length) noexcept nogil:
    """Return whether the name at ``p`` means something elsewhere in an export, so that it is no value's."""
    return (
        (length == 3 and memcmp(p, b"row", 3) == 0)
        or (length == 4 and memcmp(p, b"node", 4) == 0)
        or (length == 6 and (memcmp(p, b"schema", 6) == 0 or memcmp(p, b"source", 6) == 0))
        or (length >= 6 and memcmp(p, b"trace-", 6) == 0)
    )


cdef Tag *new_tag(State *s, Bytes p, size_t length) noexcept nogil:
    cdef Tag *tag = &s.tags[s.tag_count]
    memset(tag, 0, sizeof(Tag))
    memcpy(tag.name, p, length)
    memset(&tag.mask, 0xff, min(length, <size_t>8))
    tag.head = load64(tag.name)
    if length >= 8:
        tag.tail = load64(tag.name + length - 8)
    tag.length = length
    tag.code = <uint8_t>s.tag_count
    tag.kind = kind_of(p, length)
    s.tag_count += 1
    return tag


cdef int kind_of(Bytes p, size_t length) noexcept nogil:
    if length == 8 and memcmp(p, b"sentinel", 8) == 0:
        return SENTINEL
    if length == 5 and memcmp(p, b"frame", 5) == 0:
        return FRAME
    if length == 6 and memcmp(p, b"binary", 6) == 0:
        return BINARY
    if (
        (length == 4 and memcmp(p, b"core", 4) == 0)
        or (length == 6 and memcmp(p, b"thread", 6) == 0)
        or (length == 7 and memcmp(p, b"process", 7) == 0)
    ):
        return NAMED
    if (length == 9 and memcmp(p, b"backtrace", 9) == 0) or (
        length == 16 and memcmp(p, b"tagged-backtrace", 16) == 0
    ):
        return STACK
    return PLAIN
