# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, infer_types=False
"""A scanner for the rows of an export: the subset of XML that ``xctrace`` writes, and nothing else.

It relies on three facts: ids are dense from 1 in document order, refs point backward, and each cell's value
stands in the element that brings the id. One pass over the bytes then fills the value store and the matrix of
cell ids. Whatever it does not know for certain (comments, CDATA, ids out of order, other attributes, bytes that
are no UTF-8, …) stops it *before* the row in question, with everything before that row intact: the caller hands
the rest to another reader. It never guesses and never repairs.

The bytes lie in a buffer that ends with zero bytes. Zero is in no class of characters that any loop passes over, so
no loop runs past the end, and loads of eight or sixteen bytes stay inside the padding.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove, memset, strlen

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__)
    #include <emmintrin.h>
    #elif defined(__ARM_NEON)
    #include <arm_neon.h>
    #endif

    static inline uint64_t load64(const uint8_t *p) { uint64_t word; memcpy(&word, p, 8); return word; }

    /* Is this byte one that needs a look: a control character, not ASCII, markup, or `other`? */
    static inline int special(uint8_t c, uint8_t other) {
        return c < 0x20 || c > 0x7f || c == '<' || c == '&' || c == other;
    }

    /* The first such byte from p on; there is always one, for the buffer ends with zeros. */
    static inline const uint8_t *next_special(const uint8_t *p, uint8_t other) {
    #if defined(__SSE2__)
        for (;; p += 16) {
            __m128i v = _mm_loadu_si128((const __m128i *)p);
            __m128i found = _mm_or_si128(
                _mm_or_si128(_mm_cmplt_epi8(v, _mm_set1_epi8(0x20)), _mm_cmpeq_epi8(v, _mm_set1_epi8('<'))),
                _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('&')), _mm_cmpeq_epi8(v, _mm_set1_epi8((char)other))));
            int mask = _mm_movemask_epi8(found);
            if (mask) return p + __builtin_ctz((unsigned)mask);
        }
    #elif defined(__ARM_NEON)
        for (;; p += 16) {
            uint8x16_t v = vld1q_u8(p);
            uint8x16_t found = vorrq_u8(
                vorrq_u8(vcltq_s8(vreinterpretq_s8_u8(v), vdupq_n_s8(0x20)), vceqq_u8(v, vdupq_n_u8('<'))),
                vorrq_u8(vceqq_u8(v, vdupq_n_u8('&')), vceqq_u8(v, vdupq_n_u8(other))));
            uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(found), 4)), 0);
            if (mask) return p + (__builtin_ctzll(mask) >> 2);
        }
    #else
        while (!special(*p, other)) p++;
        return p;
    #endif
    }

    /* The canonical decimal number from p up to a quote, which is returned; NULL for anything else. Numbers of up
       to seven digits are read as one word: which of eight bytes is the quote, are those before it digits, and
       their sum by multiplications. */
    static inline const uint8_t *number_to_quote(const uint8_t *p, uint64_t *value) {
        if (*p < '1' || *p > '9') return NULL;
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        const uint64_t ones = 0x0101010101010101u;
        uint64_t word = load64(p);
        uint64_t other = word ^ ('"' * ones);
        uint64_t quotes = (other - ones) & ~other & (0x80 * ones);
        if (quotes) {
            int digits = __builtin_ctzll(quotes) >> 3;
            int unused = 64 - 8 * digits;
            uint64_t zeros = ('0' * ones) << unused;
            word <<= unused;
            if ((word & ((0xf0 * ones) << unused)) != zeros) return NULL;
            word -= zeros;
            if ((word + 0x76 * ones) & (0x80 * ones)) return NULL;
            word = word * 10 + (word >> 8);
            *value = ((word & 0x000000ff000000ffu) * 0x000f424000000064u
                + ((word >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >> 32;
            return p + digits;
        }
    #endif
        {
            const uint8_t *begin = p;
            uint64_t number = 0;
            while (*p >= '0' && *p <= '9' && p - begin < 11) number = number * 10 + (*p++ - '0');
            *value = number;
            return *p == '"' && p - begin <= 10 ? p : NULL;
        }
    }

    #if defined(__GNUC__)
    #define prefetch(place) __builtin_prefetch(place)
    #else
    #define prefetch(place) ((void)(place))
    #endif

    /* Two words into one, keyed: people who write hostile exports cannot choose strings that collide. */
    static inline uint64_t mix(uint64_t a, uint64_t b) {
    #if defined(__SIZEOF_INT128__)
        unsigned __int128 product = (unsigned __int128)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    #else
        a = (a ^ (a >> 32)) * 0xd6e8feb86659fd93u; b = (b ^ (b >> 29)) * 0xa0761d6478bd642fu;
        return a ^ (b << 23) ^ (b >> 41) ^ (a >> 27);
    #endif
    }
    """
    uint64_t load64(const uint8_t *p) nogil
    const uint8_t *next_special(const uint8_t *p, uint8_t other) nogil
    uint64_t mix(uint64_t a, uint64_t b) nogil
    void prefetch(void *place) nogil
    const uint8_t *number_to_quote(const uint8_t *p, uint64_t *value) nogil

# What `Scanner.run` stopped at.
MORE, ROOT, NODE, SCHEMA, NODE_END, END, STRANGE = range(7)

cdef enum:
    S_MORE, S_ROOT, S_NODE, S_SCHEMA, S_NODE_END, S_END, S_STRANGE
    PADDING = 64
    MAX_DEPTH = 64
    MAX_TAGS = 4096
    MAX_NAME = 64
    TAG_CACHE = 1024
    LEAST_ELEMENT = 8  # bytes of the shortest element, <a id=""/>, and of a cell: <x ref=…
    NONE = 0
    INT = 1
    NEGATIVE = 2
    TEXT = 3
    CHILDREN = 4
    PLAIN = 0
    SENTINEL = 1
    FRAME = 2
    BINARY = 3
    NAMED = 4  # keeps its fmt
    STACK = 5  # keeps it where it holds addresses
    # Columns of `slots`, …
    V_TAG = 0
    V_FORM = 1
    V_VALUE = 2
    # … `fmts` …
    N_SLOT = 0
    N_FMT = 1
    # … `frames` …
    F_SLOT = 0
    F_NAME = 1
    F_ADDRESS = 2
    F_INLINED = 3
    F_LINE = 4
    F_PATH = 5
    F_BINARY = 6
    # … and `binaries`.
    B_SLOT = 0
    B_NAME = 1
    B_PATH = 2
    B_UUID = 3
    B_ARCH = 4
    B_LOAD = 5
    # Attributes, as bits of a set.
    FMT = 1
    NAME = 2
    ADDR = 4
    INLINED = 8
    UUID = 16
    ARCH = 32
    LOAD_ADDR = 64
    PATH = 128

cdef uint64_t SECRET = 0x9e3779b97f4a7c15
cdef uint8_t HEX[256]  # the value of a digit, 255 for anything else
memset(HEX, 255, 256)
for _digit, _value in zip(b"0123456789abcdefABCDEF", (*range(16), *range(10, 16)), strict=True):
    HEX[<int>_digit] = _value

ctypedef const uint8_t *Bytes

cdef struct Table:
    # Columns that grow together.
    size_t count
    size_t capacity
    int columns
    size_t width[8]
    uint8_t *data[8]

cdef struct Span:
    Bytes start
    size_t length
    bint escaped

cdef struct Tag:
    uint64_t head  # the name's first eight bytes
    uint64_t mask
    uint64_t tail  # its last eight
    uint8_t name[MAX_NAME]
    size_t length
    uint16_t code
    int kind

cdef struct Marks:  # how much there was before a row, to take it back
    size_t slots, fmts, children, frames, binaries, cells, strings, arena, lines
    int tags

cdef struct State:
    uint64_t seed
    # The bytes: buffer[at:filled] are not consumed; up to `ready` every row is whole.
    uint8_t *buffer
    size_t capacity, filled, at, ready
    size_t item  # end of the markup that `run` stopped at
    size_t lines  # newlines consumed
    uint16_t strange_refs  # not zero once a ref was to another tag
    bint no_memory
    # The store.
    Table slots, fmts, frames, binaries, children
    Table pending  # children of elements that are still open
    # The open table.
    Table cells
    bint in_node
    size_t width
    size_t rows, rows_ever
    # Strings, each once.
    Table arena, offsets, scratch
    uint64_t *table  # hash << 32 | row + 1
    size_t table_mask
    # Tags.
    Tag *tags
    int tag_count
    uint16_t cache[TAG_CACHE]


# ---- growing -----------------------------------------------------------------------------------------------

cdef void prepare(Table *table, const char *widths) noexcept:
    table.columns = <int>strlen(widths)
    for column in range(table.columns):
        table.width[column] = widths[column] - c'0'


cdef int reserve(Table *table, size_t more) noexcept nogil:
    """Make room for ``more`` rows; 0 when there is no memory."""
    cdef size_t needed = table.count + more
    cdef size_t capacity = table.capacity
    cdef uint8_t *data
    cdef int column
    if needed <= capacity:
        return 1
    capacity = max(needed, capacity + capacity // 2)
    for column in range(table.columns):
        data = <uint8_t *>realloc(table.data[column], capacity * table.width[column])
        if data == NULL:
            return 0
        table.data[column] = data
    table.capacity = capacity
    return 1


cdef inline void set16(Table *table, int column, size_t at, uint16_t number) noexcept nogil:
    (<uint16_t *>table.data[column])[at] = number


cdef inline void set32(Table *table, int column, size_t at, int32_t number) noexcept nogil:
    (<int32_t *>table.data[column])[at] = number


cdef inline void set64(Table *table, int column, size_t at, uint64_t number) noexcept nogil:
    (<uint64_t *>table.data[column])[at] = number


cdef inline void append(Table *table, int32_t number) noexcept nogil:
    set32(table, 0, table.count, number)
    table.count += 1


cdef inline size_t new_slot(State *s, uint16_t tag) noexcept nogil:
    cdef size_t slot = s.slots.count
    set16(&s.slots, V_TAG, slot, tag)
    s.slots.data[V_FORM][slot] = NONE
    set64(&s.slots, V_VALUE, slot, 0)
    s.slots.count += 1
    return slot


cdef int reserve_for(State *s, size_t size) noexcept nogil:
    """Make room for all that so many bytes can bring, so that nothing below has to ask."""
    cdef size_t most = size // LEAST_ELEMENT + 16
    return (
        reserve(&s.slots, most)
        and reserve(&s.fmts, most)
        and reserve(&s.frames, most)
        and reserve(&s.binaries, most)
        and reserve(&s.children, most)
        and reserve(&s.pending, most)
        and reserve(&s.cells, most)
        and reserve(&s.arena, size + 16)
        and reserve(&s.scratch, size + 16)
    )


# ---- strings -----------------------------------------------------------------------------------------------

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
    cdef size_t at, place
    if table == NULL:
        return 0
    for at in range(s.table_mask + 1):
        if s.table[at]:
            place = (s.table[at] >> 32) & (size - 1)
            while table[place]:
                place = (place + 1) & (size - 1)
            table[place] = s.table[at]
    free(s.table)
    s.table = table
    s.table_mask = size - 1
    return 1


cdef inline bint same_bytes(Bytes one, Bytes other, size_t length) noexcept nogil:
    """Compare bytes; both are followed by as many as are loaded beyond them."""
    while length >= 8:
        if load64(one) != load64(other):
            return False
        one, other, length = one + 8, other + 8, length - 8
    return length == 0 or (load64(one) ^ load64(other)) << (64 - 8 * length) == 0


cdef int32_t intern(State *s, Bytes text, size_t length) noexcept nogil:
    """Return the string's row; -1 when there is no memory, or no room for another string."""
    cdef uint64_t hashed = hash_of(s.seed, text, length) >> 32
    cdef size_t place = hashed & s.table_mask
    cdef int64_t *offsets = <int64_t *>s.offsets.data[0]
    cdef size_t found
    while s.table[place]:
        if s.table[place] >> 32 == hashed:
            found = (s.table[place] & 0xffffffffu) - 1
            if (
                <size_t>(offsets[found + 1] - offsets[found]) == length
                and same_bytes(s.arena.data[0] + offsets[found], text, length)
            ):
                return <int32_t>found
        place = (place + 1) & s.table_mask
    found = s.offsets.count - 1
    if found >= 0x40000000:
        return -1
    if not (reserve(&s.offsets, 1) and reserve(&s.arena, length + 8)):
        s.no_memory = True
        return -1
    memcpy(s.arena.data[0] + s.arena.count, text, length)
    s.arena.count += length
    set64(&s.offsets, 0, s.offsets.count, s.arena.count)
    s.offsets.count += 1
    s.table[place] = hashed << 32 | (found + 1)
    if found * 2 > s.table_mask and not grow_table(s):
        s.no_memory = True
        return -1
    return <int32_t>found


cdef int32_t intern_span(State *s, Span *span) noexcept nogil:
    """Intern a piece of the document, its five entities replaced (`utf8` and `entity` looked at them before)."""
    cdef Bytes p = span.start
    cdef Bytes end = p + span.length
    cdef uint8_t *out = s.scratch.data[0]
    cdef size_t n = 0
    if not span.escaped:
        return intern(s, p, span.length)
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


# ---- tags --------------------------------------------------------------------------------------------------

cdef inline bint is_named(Tag *tag, Bytes p) noexcept nogil:
    """Does the name of ``tag`` begin at ``p``? What follows it is for the caller to look at."""
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
    """Return the tag whose name stands at ``p``; NULL when it cannot be one."""
    cdef size_t place = (load64(p) * SECRET) >> 54
    cdef Tag *tag = &s.tags[s.cache[place]]
    if is_named(tag, p) and ends_name(p[tag.length]):
        return tag
    return look_up_tag(s, p, place)


cdef Tag *look_up_tag(State *s, Bytes p, size_t place) noexcept nogil:
    cdef size_t length = 0
    cdef int at
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
    for at in range(s.tag_count):
        tag = &s.tags[at]
        if tag.length == length and memcmp(tag.name, p, length) == 0:
            s.cache[place] = <uint16_t>at
            return tag
    if s.tag_count == MAX_TAGS or is_no_cell(p, length):
        return NULL
    tag = new_tag(s, p, length)
    s.cache[place] = tag.code
    return tag


cdef bint is_no_cell(Bytes p, size_t length) noexcept nogil:
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
    tag.code = <uint16_t>s.tag_count
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


# ---- one element -------------------------------------------------------------------------------------------

cdef inline Bytes blank(State *s, Bytes p) noexcept nogil:
    """Pass over the white space between elements."""
    while p[0] == c'\n' or p[0] == c' ' or p[0] == c'\t':
        s.lines += p[0] == c'\n'
        p += 1
    return p


cdef Bytes quoted(Bytes p, Span *span) noexcept nogil:
    """Pass over an attribute's value and its closing quote; NULL when it holds what needs a real parser."""
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


cdef Bytes text_of(State *s, Bytes p, Span *span, bint *is_blank, bint *doubtful) noexcept nogil:
    """Pass over text up to the next '<'; NULL when it holds what needs a real parser.

    ``doubtful`` is set for a text with a newline that might be a number in white space.
    """
    cdef int length
    cdef bint newline = False
    cdef bint told = False  # a character that neither is white space nor part of a number
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
                    told = True
                    break
            before += 1
        if p[0] == c'<':
            break
        if p[0] == c'\n' or p[0] == c'\t':
            if p[0] == c'\n':
                newline = True
                s.lines += 1
            p += 1
            continue
        is_blank[0] = False
        if p[0] >= 0x80:
            length = utf8(p)
        elif p[0] == c'&':
            span.escaped = told = True
            length = entity(p)
        elif p[0] == c'>':
            length = 0 if p - span.start >= 2 and (p - 1)[0] == c']' and (p - 2)[0] == c']' else 1
            told = True
        else:
            length = 0
        if length == 0:
            return NULL
        p += length
    span.length = p - span.start
    doubtful[0] = newline and not told
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
    # Looked at when the row is whole: waiting here for the memory of each slot takes a seventh of all the time.
    s.strange_refs |= (<uint16_t *>s.slots.data[V_TAG])[value] ^ tag.code
    slot[0] = <int32_t>value
    return p + 2


cdef inline bint is_reference(Tag *tag, Bytes p) noexcept nogil:
    """Does ``<tag ref="`` stand at ``p``?"""
    return p[0] == c'<' and is_named(tag, p + 1) and memcmp(p + 1 + tag.length, b' ref="', 6) == 0


cdef Bytes element(State *s, Bytes p, int depth, int32_t *slot, Tag **which) noexcept nogil:
    """Read the element at ``p``, and all below it, into the store; NULL when it is not of the subset."""
    cdef Tag *tag
    cdef uint64_t value = 0
    cdef size_t own
    cdef Span spans[8]
    cdef int has = 0
    cdef int32_t fmt
    cdef bint content
    if p[0] != c'<' or depth > MAX_DEPTH:
        return NULL
    tag = tag_at(s, p + 1)
    if tag == NULL:
        return NULL
    which[0] = tag
    p += 1 + tag.length
    if memcmp(p, b' ref="', 6) == 0:
        return reference(s, tag, p + 6, slot)
    if tag.kind == SENTINEL:
        slot[0] = 0
        return p + 2 if p[0] == c'/' and p[1] == c'>' else NULL
    if memcmp(p, b' id="', 5) != 0:
        return NULL
    own = s.slots.count
    p = number_to_quote(p + 5, &value)
    if p == NULL or value != own:
        return NULL
    slot[0] = <int32_t>own
    p += 1
    if p[0] == c' ' and p[1] != c'/':
        p = attributes(p, tag.kind, spans, &has)
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
    if has & FMT and (tag.kind == NAMED or (tag.kind == STACK and not (content and holds_frames(p)))):
        fmt = intern_span(s, &spans[0])
        if fmt < 0:
            return NULL
        set32(&s.fmts, N_SLOT, s.fmts.count, <int32_t>own)
        set32(&s.fmts, N_FMT, s.fmts.count, fmt)
        s.fmts.count += 1
    if tag.kind == FRAME:
        return frame(s, tag, own, spans, has, p, content, depth)
    if tag.kind == BINARY:
        if content:
            p = end_tag(tag, p)
        return p if p != NULL and binary(s, own, spans, has) else NULL
    if not content:
        return p
    return inside(s, tag, own, p, depth)


cdef inline bint holds_frames(Bytes p) noexcept nogil:
    """Does a backtrace begin with a frame, or with a backtrace inside it?"""
    while p[0] == c'\n' or p[0] == c' ' or p[0] == c'\t':
        p += 1
    return (memcmp(p, b"<frame", 6) == 0 and ends_name(p[6])) or (
        memcmp(p, b"<backtrace", 10) == 0 and ends_name(p[10])
    )


cdef Bytes attributes(Bytes p, int kind, Span *spans, int *has) noexcept nogil:
    """Read `` name="value"`` over and over; ``spans`` are by the bits of ``has``. NULL for one that is not known."""
    cdef int bit, at
    cdef int length
    cdef int allowed = FMT
    if kind == FRAME:
        allowed = FMT | NAME | ADDR | INLINED
    elif kind == BINARY:
        allowed = FMT | NAME | UUID | ARCH | LOAD_ADDR | PATH
    while p[0] == c' ' and p[1] != c'/':
        p += 1
        if memcmp(p, b'fmt="', 5) == 0:
            bit, at, length = FMT, 0, 5
        elif memcmp(p, b'name="', 6) == 0:
            bit, at, length = NAME, 1, 6
        elif memcmp(p, b'addr="', 6) == 0:
            bit, at, length = ADDR, 2, 6
        elif memcmp(p, b'inlined="', 9) == 0:
            bit, at, length = INLINED, 3, 9
        elif memcmp(p, b'UUID="', 6) == 0:
            bit, at, length = UUID, 4, 6
        elif memcmp(p, b'arch="', 6) == 0:
            bit, at, length = ARCH, 5, 6
        elif memcmp(p, b'load-addr="', 11) == 0:
            bit, at, length = LOAD_ADDR, 6, 11
        elif memcmp(p, b'path="', 6) == 0:
            bit, at, length = PATH, 7, 6
        else:
            return NULL
        if has[0] & bit or not allowed & bit:
            return NULL
        p = quoted(p + length, &spans[at])
        if p == NULL:
            return NULL
        has[0] |= bit
    return p


cdef Bytes inside(State *s, Tag *tag, size_t own, Bytes p, int depth) noexcept nogil:
    """Read what stands between the tags: a number, a text, or elements."""
    cdef Bytes begin = p
    cdef Bytes end
    cdef uint64_t value = 0
    cdef Span span
    cdef bint is_blank = True
    cdef bint doubtful = False
    cdef int32_t child = 0
    cdef Tag *of_child = NULL
    cdef size_t first
    cdef int digits
    while c'0' <= p[0] <= c'9':
        value = value * 10 + (p[0] - c'0')
        p += 1
    if p > begin and p[0] == c'<' and (begin[0] != c'0' or p == begin + 1) and p - begin < 20:
        set64(&s.slots, V_VALUE, own, value)
        s.slots.data[V_FORM][own] = INT
        return end_tag(tag, p)
    p = text_of(s, begin, &span, &is_blank, &doubtful)
    if p == NULL:
        return NULL
    if p[1] == c'/':
        if span.length and (doubtful or not set_text(s, own, &span)):
            return NULL
        return end_tag(tag, p)
    if not is_blank:
        return NULL
    first = s.pending.count
    while not (p[0] == c'<' and p[1] == c'/'):
        if of_child != NULL and is_reference(of_child, p):  # mostly the frames of a stack
            p = reference(s, of_child, p + of_child.length + 7, &child)
        else:
            p = element(s, p, depth + 1, &child, &of_child)
        if p == NULL:
            return NULL
        append(&s.pending, child)
        p = blank(s, p)
    s.slots.data[V_FORM][own] = CHILDREN
    set64(&s.slots, V_VALUE, own, <uint64_t>s.children.count << 32 | (s.pending.count - first))
    memcpy(
        s.children.data[0] + 4 * s.children.count,
        s.pending.data[0] + 4 * first,
        4 * (s.pending.count - first),
    )
    s.children.count += s.pending.count - first
    s.pending.count = first
    return end_tag(tag, p)


cdef bint set_text(State *s, size_t own, Span *span) noexcept nogil:
    """Store a text, as a number where it is one in canonical form; False when it cannot be."""
    cdef Bytes p = span.start
    cdef bint negative = p[0] == c'-'
    cdef size_t digits = span.length - negative
    cdef uint64_t value = 0
    cdef uint64_t limit
    cdef size_t at = 0
    cdef int32_t row
    p += negative
    if 0 < digits <= 20 and span.length <= 20 and (p[0] != c'0' or (digits == 1 and not negative)):
        limit = <uint64_t>1 << 63 if negative else 0xffffffffffffffffu
        while at < digits and c'0' <= p[at] <= c'9':
            if value > (limit - (p[at] - c'0')) // 10:
                break
            value = value * 10 + (p[at] - c'0')
            at += 1
        if at == digits:
            set64(&s.slots, V_VALUE, own, 0 - value if negative else value)
            s.slots.data[V_FORM][own] = NEGATIVE if negative else INT
            return True
    row = intern_span(s, span)
    if row < 0:
        return False
    set64(&s.slots, V_VALUE, own, <uint64_t>row)
    s.slots.data[V_FORM][own] = TEXT
    return True


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


# ---- rows --------------------------------------------------------------------------------------------------

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


# ---- to Python ---------------------------------------------------------------------------------------------

cdef class Block:
    """Memory that a numpy array can lie upon; it is freed with the last of them."""

    cdef uint8_t *data
    cdef Py_ssize_t size

    def __dealloc__(self):
        free(self.data)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <void *>self.data, self.size, 0, flags)

    def __releasebuffer__(self, Py_buffer *view):
        pass


cdef Block give(Table *table, int column):
    """Take a column's memory out of a table."""
    cdef Block block = Block.__new__(Block)
    cdef uint8_t *data
    block.size = table.count * table.width[column]
    data = <uint8_t *>realloc(table.data[column], max(block.size, 8))
    block.data = data if data != NULL else table.data[column]
    table.data[column] = NULL
    return block


cdef list give_all(Table *table):
    given = [give(table, column) for column in range(table.columns)]
    table.count = table.capacity = 0
    return given


cdef void release(Table *table) noexcept:
    for column in range(table.columns):
        free(table.data[column])


cdef class Scanner:
    """Holds one document while it is read: ``feed`` bytes, ``run``, look at what it stopped at, ``take`` that."""

    cdef State s

    def __cinit__(self, uint64_t seed):
        cdef State *s = &self.s
        memset(s, 0, sizeof(State))
        s.seed = seed
        prepare(&s.slots, "218")
        prepare(&s.fmts, "44")
        prepare(&s.frames, "4481444")
        prepare(&s.binaries, "444448")
        prepare(&s.children, "4")
        prepare(&s.pending, "4")
        prepare(&s.cells, "4")
        prepare(&s.arena, "1")
        prepare(&s.scratch, "1")
        prepare(&s.offsets, "8")
        s.table_mask = 4095
        s.table = <uint64_t *>calloc(4096, sizeof(uint64_t))
        s.tags = <Tag *>malloc(MAX_TAGS * sizeof(Tag))
        if s.table == NULL or s.tags == NULL or not reserve(&s.offsets, 1) or not reserve_for(s, 0):
            raise MemoryError
        new_tag(s, <Bytes>b"sentinel", 8)
        new_slot(s, 0)
        set64(&s.offsets, 0, 0, 0)
        s.offsets.count = 1

    def __dealloc__(self):
        cdef State *s = &self.s
        free(s.buffer)
        free(s.table)
        free(s.tags)
        release(&s.slots)
        release(&s.fmts)
        release(&s.frames)
        release(&s.binaries)
        release(&s.children)
        release(&s.pending)
        release(&s.cells)
        release(&s.arena)
        release(&s.scratch)
        release(&s.offsets)

    def feed(self, data):
        """Take the next bytes; mark up to where every row is whole."""
        cdef Py_buffer view
        cdef State *s = &self.s
        cdef size_t size, searched
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            size = view.len
            if not self._make_room(size):
                raise MemoryError
            searched = s.filled
            memcpy(s.buffer + s.filled, view.buf, size)
        finally:
            PyBuffer_Release(&view)
        s.filled += size
        memset(s.buffer + s.filled, 0, PADDING)
        self._find_ready(searched - 5 if searched > 5 else 0)

    cdef bint _make_room(self, size_t size):
        cdef State *s = &self.s
        cdef uint8_t *buffer
        cdef size_t left = s.filled - s.at
        if s.at and left:
            memmove(s.buffer, s.buffer + s.at, left)
        s.ready -= min(s.ready, s.at)
        s.filled, s.at = left, 0
        if left + size + PADDING > s.capacity:
            buffer = <uint8_t *>realloc(s.buffer, left + size + PADDING)
            if buffer == NULL:
                return False
            s.buffer = buffer
            s.capacity = left + size + PADDING
        return True

    cdef void _find_ready(self, size_t since) noexcept:
        cdef State *s = &self.s
        cdef size_t at = s.filled
        while at > since:
            at -= 1
            if s.buffer[at] == c'>' and at >= 5 and memcmp(s.buffer + at - 5, b"</row>", 6) == 0:
                s.ready = at + 1
                return

    def run(self, bint final=False):
        """Read on; return what it stopped at. With ``final``, nothing more will come."""
        cdef State *s = &self.s
        cdef int found
        if final:
            s.ready = s.filled
        with nogil:
            found = scan(s)
        if s.no_memory:
            raise MemoryError
        return found

    def peek(self):
        """Return the markup that ``run`` stopped at."""
        return PyBytes_FromStringAndSize(<char *>self.s.buffer + self.s.at, self.s.item - self.s.at)

    def take(self):
        """Consume that markup."""
        cdef size_t at
        for at in range(self.s.at, self.s.item):
            self.s.lines += self.s.buffer[at] == c'\n'
        self.s.at = self.s.item

    def rest(self):
        """Return the bytes that were not consumed."""
        return PyBytes_FromStringAndSize(<char *>self.s.buffer + self.s.at, self.s.filled - self.s.at)

    def ready(self):
        """Return whether a whole row waits to be read."""
        return self.s.ready > self.s.at

    def forget_lines(self):
        """Count newlines from here on."""
        self.s.lines = 0

    def waiting(self):
        """Return how many bytes were not consumed."""
        return self.s.filled - self.s.at

    def begin_rows(self, size_t width):
        """Rows of so many cells may follow."""
        self.s.in_node = width > 0
        self.s.width = width
        self.s.rows = 0

    def end_rows(self):
        """Return the cells of the rows since ``begin_rows``, as int32."""
        self.s.in_node = False
        return give_all(&self.s.cells)[0]

    @property
    def lines(self):
        """How many newlines were consumed."""
        return self.s.lines

    @property
    def rows(self):
        """How many rows were read since ``begin_rows``."""
        return self.s.rows

    @property
    def rows_ever(self):
        """How many rows were read."""
        return self.s.rows_ever

    def tags(self):
        """Return the tags by their code."""
        cdef int at
        return [(<char *>self.s.tags[at].name)[:self.s.tags[at].length].decode() for at in range(self.s.tag_count)]

    def strings(self):
        """Return every string once."""
        cdef int64_t *offsets = <int64_t *>self.s.offsets.data[0]
        cdef char *arena = <char *>self.s.arena.data[0]
        cdef size_t at
        return [
            PyUnicode_DecodeUTF8(arena + offsets[at], offsets[at + 1] - offsets[at], NULL)
            for at in range(self.s.offsets.count - 1)
        ]

    def columns(self):
        """Give away what was read: the columns of slots, kept fmts, frames, binaries, and the children's slots.

        The scanner cannot be used afterwards.
        """
        cdef State *s = &self.s
        tables = [give_all(&s.slots), give_all(&s.fmts), give_all(&s.frames), give_all(&s.binaries)]
        return *tables, give_all(&s.children)[0]


# ---- equal runs --------------------------------------------------------------------------------------------

cdef void number_runs(
    const int32_t *data, int64_t *ends, size_t count, int32_t *ids, uint64_t *table, size_t mask, uint64_t seed
) noexcept nogil:
    cdef size_t at, place, length, other, step
    cdef uint64_t hashed
    for at in range(count):
        length = <size_t>(ends[at + 1] - ends[at])
        hashed = seed ^ length
        for step in range(length):
            hashed = mix(hashed ^ <uint32_t>data[<size_t>ends[at] + step], SECRET ^ seed)
        hashed = mix(hashed, SECRET) >> 32
        place = hashed & mask
        ids[at] = <int32_t>at
        while table[place]:
            other = (table[place] & 0xffffffffu) - 1
            if (
                table[place] >> 32 == hashed
                and <size_t>(ends[other + 1] - ends[other]) == length
                and memcmp(data + ends[other], data + ends[at], 4 * length) == 0
            ):
                ids[at] = <int32_t>other
                break
            place = (place + 1) & mask
        else:
            table[place] = hashed << 32 | (at + 1)


def distinct_runs(const int32_t[::1] data, int64_t[::1] ends, int32_t[::1] ids, uint64_t seed):
    """Set each of ``ids`` to the first run ``data[ends[i]:ends[i + 1]]`` that equals the one at its place."""
    cdef size_t count = ids.shape[0]
    cdef size_t size = 16
    cdef size_t at
    cdef uint64_t *table
    if <size_t>ends.shape[0] != count + 1 or count >= 0x7fffffff:
        raise ValueError("one end more than there are runs")
    if count == 0:
        return
    if ends[0] < 0 or ends[count] > data.shape[0]:
        raise ValueError("runs beyond the data")
    for at in range(count):
        if ends[at] > ends[at + 1]:
            raise ValueError("a run that ends before it begins")
    while size < 2 * count:
        size *= 2
    table = <uint64_t *>calloc(size, sizeof(uint64_t))
    if table == NULL:
        raise MemoryError
    with nogil:
        number_runs(&data[0] if data.shape[0] else NULL, &ends[0], count, &ids[0], table, size - 1, seed)
    free(table)


cdef bint same_rows(const uint8_t **columns, size_t *widths, int count, size_t one, size_t other) noexcept nogil:
    cdef int at
    for at in range(count):
        if memcmp(columns[at] + one * widths[at], columns[at] + other * widths[at], widths[at]) != 0:
            return False
    return True


cdef enum:
    AHEAD = 32  # rows whose places in the table are fetched before they are needed


cdef void number_rows(
    const uint8_t **columns, size_t *widths, int columns_count, size_t count, int32_t *ids, uint32_t *table,
    size_t mask, uint64_t seed,
) noexcept nogil:
    cdef size_t at, begin, place, other
    cdef size_t places[AHEAD]
    cdef int column
    cdef uint64_t hashed, word
    begin = 0
    while begin < count:
        for at in range(begin, min(begin + AHEAD, count)):
            hashed = seed
            for column in range(columns_count):
                word = 0
                memcpy(&word, columns[column] + at * widths[column], widths[column])
                hashed = mix(hashed ^ word, SECRET ^ seed)
            places[at - begin] = (mix(hashed, SECRET) >> 32) & mask
            prefetch(&table[places[at - begin]])
        for at in range(begin, min(begin + AHEAD, count)):
            place = places[at - begin]
            ids[at] = <int32_t>at
            while table[place]:
                other = table[place] - 1
                if same_rows(columns, widths, columns_count, at, other):
                    ids[at] = <int32_t>other
                    break
                place = (place + 1) & mask
            else:
                table[place] = <uint32_t>(at + 1)
        begin += AHEAD


def distinct_rows(list columns, int32_t[::1] ids, uint64_t seed):
    """Set each of ``ids`` to the first row that equals the one at its place; ``columns`` are bytes, row by row."""
    cdef const uint8_t *data[16]
    cdef size_t widths[16]
    cdef const uint8_t[::1] column
    cdef size_t count = ids.shape[0]
    cdef size_t size = 16
    cdef int at
    cdef uint32_t *table
    if count == 0:
        return
    if len(columns) > 16 or count >= 0x7fffffff:
        raise ValueError("too many columns or rows")
    for at in range(len(columns)):
        column = columns[at]
        widths[at] = column.shape[0] // count
        if not 0 < widths[at] <= 8 or column.shape[0] != <Py_ssize_t>(widths[at] * count):
            raise ValueError("columns of different lengths")
        data[at] = &column[0]
    while size < count + count // 2:
        size *= 2
    table = <uint32_t *>calloc(size, sizeof(uint32_t))
    if table == NULL:
        raise MemoryError
    at = <int>len(columns)
    with nogil:
        number_rows(data, widths, at, count, &ids[0], table, size - 1, seed)
    free(table)


def take_runs(const uint8_t[::1] data, int64_t[::1] ends, const int32_t[::1] picks, int64_t[::1] offsets, uint8_t[::1] out):
    """Copy run ``data[ends[i]:ends[i + 1]]`` of each pick ``i`` to its place in ``out``, from ``offsets`` on."""
    cdef Py_ssize_t at, pick, length
    cdef Py_ssize_t count = ends.shape[0] - 1
    if offsets.shape[0] != picks.shape[0] + 1:
        raise ValueError("one offset more than there are picks")
    with nogil:
        for at in range(picks.shape[0]):
            pick = picks[at]
            if not 0 <= pick < count:
                break
            length = ends[pick + 1] - ends[pick]
            if not (0 <= ends[pick] <= ends[pick + 1] <= data.shape[0]):
                break
            if offsets[at + 1] - offsets[at] != length or offsets[at] < 0 or offsets[at + 1] > out.shape[0]:
                break
            if length:
                memcpy(&out[offsets[at]], &data[ends[pick]], length)
        else:
            at = -1
    if at >= 0:
        raise ValueError("a pick that is no run, or has another length")
