# One element with everything inside it, into the value store.

cdef inline Bytes skip_blanks(Bytes p) noexcept nogil:
    """Pass over the white space between elements."""
    while p[0] == c'\n' or p[0] == c' ' or p[0] == c'\t':
        p += 1
    return p


cdef Bytes quoted(Bytes p, Span *span) noexcept nogil:
    """Pass over an attribute's value and its closing quote; NULL for characters outside the subset."""
    cdef int length
    span.start = p
    span.escaped = False
    while True:
        p = next_special(p, c'"')
        if p[0] == c'"':
            span.length = p - span.start
            return p + 1
        if p[0] >= 0x80:
            length = utf8(p)
        elif p[0] == c'&':
            span.escaped = True
            length = entity(p)
        else:
            return NULL
        if length == 0:
            return NULL
        p += length


cdef Bytes text_of(Bytes p, Span *span, bint *is_blank, bint *ambiguous) noexcept nogil:
    """Pass over text up to the next '<'; NULL for characters outside the subset.

    ``ambiguous`` is set for a text with a newline that may be a number in white space: the reference reader strips that.
    """
    cdef int length
    cdef bint newline = False
    cdef bint has_words = False  # a character that is neither white space nor a digit
    cdef Bytes before
    span.start = p
    span.escaped = False
    is_blank[0] = True
    while True:
        before = p
        p = next_special(p, c'>')
        while before < p:
            if before[0] != c' ':
                is_blank[0] = False
                if not (c'0' <= before[0] <= c'9'):
                    has_words = True
                    break
            before += 1
        if p[0] == c'<':
            break
        if p[0] == c'\n' or p[0] == c'\t':
            newline = newline or p[0] == c'\n'
            p += 1
            continue
        is_blank[0] = False
        if p[0] >= 0x80:
            length = utf8(p)
        elif p[0] == c'&':
            span.escaped = has_words = True
            length = entity(p)
        elif p[0] == c'>':
            # "]]>" may only end a CDATA section.
            length = 0 if p - span.start >= 2 and (p - 1)[0] == c']' and (p - 2)[0] == c']' else 1
            has_words = True
        else:
            length = 0
        if length == 0:
            return NULL
        p += length
    span.length = p - span.start
    ambiguous[0] = newline and not has_words
    return p


cdef inline Bytes end_tag(Tag *tag, Bytes p) noexcept nogil:
    if p[0] == c'<' and p[1] == c'/' and is_named(tag, p + 2) and p[2 + tag.length] == c'>':
        return p + 3 + tag.length
    return NULL


cdef inline Bytes reference(State *s, Tag *tag, Bytes p, int32_t *slot) noexcept nogil:
    """Read ``123"/>``."""
    cdef uint64_t value = 0
    p = number_to_quote(p, &value)
    if p == NULL or value >= s.slots.count:
        return NULL
    p += 1
    if p[0] == c' ':
        p += 1
    if p[0] != c'/' or p[1] != c'>':
        return NULL
    # Differences are collected here and checked at the end of the row: a branch at this place would wait for the
    # memory of each slot, which takes a seventh of all the time.
    s.mismatched_refs |= s.slots.data[V_TAG][value] ^ tag.code
    slot[0] = <int32_t>value
    return p + 2


cdef inline bint is_reference(Tag *tag, Bytes p) noexcept nogil:
    """Return whether ``<tag ref="`` is at ``p``."""
    return p[0] == c'<' and is_named(tag, p + 1) and memcmp(p + 1 + tag.length, b' ref="', 6) == 0


cdef Bytes element(State *s, Bytes p, int depth, int32_t *slot, Tag **tag_read) noexcept nogil:
    """Read the element at ``p`` with everything below it into the store; NULL when it is not of the subset."""
    cdef Tag *tag
    cdef uint64_t value = 0
    cdef size_t own_slot
    cdef Span spans[8]
    cdef int present = 0
    cdef int32_t fmt
    cdef bint content
    if p[0] != c'<' or depth > MAX_DEPTH:
        return NULL
    tag = tag_at(s, p + 1)
    if tag == NULL:
        return NULL
    tag_read[0] = tag
    p += 1 + tag.length
    if memcmp(p, b' ref="', 6) == 0:
        return reference(s, tag, p + 6, slot)
    if tag.kind == SENTINEL:
        slot[0] = 0
        return p + 2 if p[0] == c'/' and p[1] == c'>' else NULL
    if memcmp(p, b' id="', 5) != 0:
        return NULL
    own_slot = s.slots.count
    p = number_to_quote(p + 5, &value)
    if p == NULL or value != own_slot:
        return NULL
    slot[0] = <int32_t>own_slot
    p += 1
    if p[0] == c' ' and p[1] != c'/':
        p = attributes(p, tag.kind, spans, &present)
        if p == NULL:
            return NULL
    new_slot(s, tag.code)
    if p[0] == c' ':
        p += 1
    if p[0] == c'/' and p[1] == c'>':
        p += 2
        content = False
    elif p[0] == c'>':
        p += 1
        content = True
    else:
        return NULL
    if present & FMT and (tag.kind == NAMED or (tag.kind == STACK and not (content and holds_frames(p)))):
        fmt = intern_span(s, &spans[0])
        if fmt < 0:
            return NULL
        set32(&s.fmts, N_SLOT, s.fmts.count, <int32_t>own_slot)
        set32(&s.fmts, N_FMT, s.fmts.count, fmt)
        s.fmts.count += 1
    if tag.kind == FRAME:
        return frame(s, tag, own_slot, spans, present, p, content, depth)
    if tag.kind == BINARY:
        if content:
            p = end_tag(tag, p)
        return p if p != NULL and binary(s, own_slot, spans, present) else NULL
    if not content:
        return p
    return inside(s, tag, own_slot, p, depth)


cdef inline bint holds_frames(Bytes p) noexcept nogil:
    """Return whether a backtrace begins with a frame, or with a backtrace inside it."""
    while p[0] == c'\n' or p[0] == c' ' or p[0] == c'\t':
        p += 1
    return (memcmp(p, b"<frame", 6) == 0 and ends_name(p[6])) or (
        memcmp(p, b"<backtrace", 10) == 0 and ends_name(p[10])
    )


cdef Bytes attributes(Bytes p, int kind, Span *spans, int *present) noexcept nogil:
    """Read `` name="value"`` over and over into ``spans``, by the bits of ``present``.

    Return NULL for an attribute that this kind of element does not have, or that comes twice.
    """
    cdef int bit, index
    cdef int length
    cdef int allowed = FMT
    if kind == FRAME:
        allowed = FMT | NAME | ADDR | INLINED
    elif kind == BINARY:
        allowed = FMT | NAME | UUID | ARCH | LOAD_ADDR | PATH
    while p[0] == c' ' and p[1] != c'/':
        p += 1
        if memcmp(p, b'fmt="', 5) == 0:
            bit, index, length = FMT, 0, 5
        elif memcmp(p, b'name="', 6) == 0:
            bit, index, length = NAME, 1, 6
        elif memcmp(p, b'addr="', 6) == 0:
            bit, index, length = ADDR, 2, 6
        elif memcmp(p, b'inlined="', 9) == 0:
            bit, index, length = INLINED, 3, 9
        elif memcmp(p, b'UUID="', 6) == 0:
            bit, index, length = UUID, 4, 6
        elif memcmp(p, b'arch="', 6) == 0:
            bit, index, length = ARCH, 5, 6
        elif memcmp(p, b'load-addr="', 11) == 0:
            bit, index, length = LOAD_ADDR, 6, 11
        elif memcmp(p, b'path="', 6) == 0:
            bit, index, length = PATH, 7, 6
        else:
            return NULL
        if present[0] & bit or not allowed & bit:
            return NULL
        p = quoted(p + length, &spans[index])
        if p == NULL:
            return NULL
        present[0] |= bit
    return p


cdef Bytes inside(State *s, Tag *tag, size_t slot, Bytes p, int depth) noexcept nogil:
    """Read the content between an element's tags: a number, a text, or elements."""
    cdef Bytes begin = p
    cdef Bytes end
    cdef uint64_t value = 0
    cdef Span span
    cdef bint is_blank = True
    cdef bint ambiguous = False
    cdef int32_t child = 0
    cdef Tag *child_tag = NULL
    cdef size_t first
    while c'0' <= p[0] <= c'9':
        value = value * 10 + (p[0] - c'0')
        p += 1
    if p > begin and p[0] == c'<' and (begin[0] != c'0' or p == begin + 1) and p - begin < 20:
        set64(&s.slots, V_VALUE, slot, value)
        s.slots.data[V_FORM][slot] = INT
        return end_tag(tag, p)
    p = text_of(begin, &span, &is_blank, &ambiguous)
    if p == NULL:
        return NULL
    if p[1] == c'/':
        if span.length and (ambiguous or not set_text(s, slot, &span)):
            return NULL
        return end_tag(tag, p)
    if not is_blank:
        return NULL
    # s.children has the children of an element side by side, and those of inner elements are complete first. So
    # s.pending is a stack: an element's children wait there until its end tag.
    first = s.pending.count
    while not (p[0] == c'<' and p[1] == c'/'):
        if child_tag != NULL and is_reference(child_tag, p):  # mostly the frames of a stack
            p = reference(s, child_tag, p + child_tag.length + 7, &child)
        else:
            p = element(s, p, depth + 1, &child, &child_tag)
        if p == NULL:
            return NULL
        append(&s.pending, child)
        p = skip_blanks(p)
    s.slots.data[V_FORM][slot] = CHILDREN
    set64(&s.slots, V_VALUE, slot, <uint64_t>s.children.count << 32 | (s.pending.count - first))
    memcpy(
        s.children.data[0] + 4 * s.children.count,
        s.pending.data[0] + 4 * first,
        4 * (s.pending.count - first),
    )
    s.children.count += s.pending.count - first
    s.pending.count = first
    return end_tag(tag, p)


cdef bint set_text(State *s, size_t slot, Span *span) noexcept nogil:
    """Store a text, as a number where it is one in canonical form; False without memory."""
    cdef Bytes p = span.start
    cdef bint negative = p[0] == c'-'
    cdef size_t digits = span.length - negative
    cdef uint64_t value = 0
    cdef uint64_t limit
    cdef size_t index = 0
    cdef int32_t row
    p += negative
    if 0 < digits <= 20 and span.length <= 20 and (p[0] != c'0' or (digits == 1 and not negative)):
        limit = <uint64_t>1 << 63 if negative else 0xffffffffffffffffu
        while index < digits and c'0' <= p[index] <= c'9':
            if value > (limit - (p[index] - c'0')) // 10:
                break
            value = value * 10 + (p[index] - c'0')
            index += 1
        if index == digits:
            set64(&s.slots, V_VALUE, slot, 0 - value if negative else value)
            s.slots.data[V_FORM][slot] = NEGATIVE if negative else INT
            return True
    row = intern_span(s, span)
    if row < 0:
        return False
    set64(&s.slots, V_VALUE, slot, <uint64_t>row)
    s.slots.data[V_FORM][slot] = TEXT
    return True
