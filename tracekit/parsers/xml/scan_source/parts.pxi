# A later part of the same document, which another scanner read, is put behind what this one has.

cdef Tag *same_tag(State *s, Tag *tag) noexcept nogil:
    cdef int at
    for at in range(s.tag_count):
        if s.tags[at].length == tag.length and memcmp(s.tags[at].name, tag.name, tag.length) == 0:
            return &s.tags[at]
    return NULL


cdef bint fits(State *s, State *later) noexcept nogil:
    """Does ``later`` begin where ``s`` ends, and refer to what is there by its tag?"""
    cdef uint8_t codes[256]
    cdef Tag *tag
    cdef size_t slot
    cdef int at, fresh = 0
    if later.base != s.slots.count:
        return False
    memset(codes, NOT_SEEN, 256)
    for at in range(later.tag_count):
        tag = same_tag(s, &later.tags[at])
        fresh += tag == NULL
        if tag != NULL:
            codes[at] = tag.code
    if s.tag_count + fresh > MAX_TAGS:
        return False
    for slot in range(later.base):
        at = later.slots.data[V_TAG][slot]
        if at != NOT_SEEN and codes[at] != s.slots.data[V_TAG][slot]:
            return False
    return True


cdef void append_column(Table *table, Table *later, int column, size_t since) noexcept nogil:
    cdef size_t width = table.width[column]
    memcpy(
        table.data[column] + width * table.count, later.data[column] + width * since, width * (later.count - since)
    )


cdef void drop(Table *table) noexcept nogil:
    cdef int column
    for column in range(table.columns):
        free(table.data[column])
        table.data[column] = NULL
    table.count = table.capacity = 0


cdef void append_rows(Table *table, Table *later, int32_t *strings, const char *kinds) noexcept nogil:
    """Append all rows; where ``kinds`` has an ``s``, the column is of strings, which have other numbers now."""
    cdef size_t at
    cdef int32_t *moved
    cdef int column
    for column in range(table.columns):
        append_column(table, later, column, 0)
        if kinds[column] == c's':
            moved = <int32_t *>table.data[column] + table.count
            for at in range(later.count):
                moved[at] = strings[moved[at]]
    table.count += later.count
    drop(later)


cdef void append_slots(State *s, State *later, int32_t *strings) noexcept nogil:
    cdef size_t at
    cdef uint8_t codes[256]
    cdef uint64_t value
    cdef uint8_t form
    for at in range(<size_t>later.tag_count):
        codes[at] = same_tag(s, &later.tags[at]).code
    for at in range(later.base, later.slots.count):
        form = later.slots.data[V_FORM][at]
        value = (<uint64_t *>later.slots.data[V_VALUE])[at]
        if form == TEXT:
            value = <uint64_t>strings[value]
        elif form == CHILDREN:
            value += <uint64_t>s.children.count << 32
        s.slots.data[V_TAG][at] = codes[later.slots.data[V_TAG][at]]
        s.slots.data[V_FORM][at] = form
        set64(&s.slots, V_VALUE, at, value)
    s.slots.count = later.slots.count
    drop(&later.slots)


cdef int absorb(State *s, State *later, size_t cells) noexcept nogil:
    """Append all that ``later``, which ``fits``, has read; 0, and nothing is appended, when there is no memory."""
    cdef int64_t *offsets = <int64_t *>later.offsets.data[0]
    cdef size_t count = later.offsets.count - 1
    cdef size_t at
    cdef int done = 0
    cdef int32_t *strings = <int32_t *>malloc(4 * count + 4)
    if strings == NULL:
        return 0
    for at in range(count):
        strings[at] = intern(s, later.arena.data[0] + offsets[at], offsets[at + 1] - offsets[at])
        if strings[at] < 0:
            break
    else:
        at = count
    if (
        at == count
        and reserve(&s.cells, cells)
        and reserve(&s.slots, later.slots.count - later.base)
        and reserve(&s.fmts, later.fmts.count)
        and reserve(&s.frames, later.frames.count)
        and reserve(&s.binaries, later.binaries.count)
        and reserve(&s.children, later.children.count)
    ):
        for at in range(<size_t>later.tag_count):
            if same_tag(s, &later.tags[at]) == NULL:
                new_tag(s, later.tags[at].name, later.tags[at].length)
        append_slots(s, later, strings)
        append_rows(&s.fmts, &later.fmts, strings, b" s")
        append_rows(&s.frames, &later.frames, strings, b" s     ")
        append_rows(&s.binaries, &later.binaries, strings, b" ssss ")
        append_rows(&s.children, &later.children, strings, b" ")
        done = 1
    s.no_memory = False
    free(strings)
    return done
