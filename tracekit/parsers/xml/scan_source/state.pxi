# The state of a scan, and how its tables grow.

cdef enum:
    S_MORE, S_ROOT, S_NODE, S_SCHEMA, S_NODE_END, S_END, S_UNSUPPORTED
    PADDING = 64
    MAX_DEPTH = 64
    MAX_TAGS = 255  # a code is a byte: real exports have some forty, and the tags of refs must stay in the cache
    MAX_NAME = 64
    TAG_CACHE = 1024
    MIN_ELEMENT = 8  # bytes: none that makes a slot or a cell is shorter: <a id="1"/>, <a ref="1"/>, <sentinel/>
    # The forms of a value, as in value_store.ValueForm.
    NONE = 0
    INT = 1
    NEGATIVE = 2
    TEXT = 3
    CHILDREN = 4
    # Kinds of elements.
    PLAIN = 0
    SENTINEL = 1
    FRAME = 2
    BINARY = 3
    NAMED = 4  # keeps its fmt, which has its name
    STACK = 5  # keeps its fmt where it holds addresses, whose only name stands there
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
    # Columns that grow together: rows 0 to count - 1 are filled, and there is memory for `capacity`.
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
    uint8_t code
    int kind

cdef struct State:
    uint64_t seed
    # The bytes; every row before `ready` is whole, and zeros follow after `filled`:
    #
    #   0        position        ready        filled     filled + PADDING
    #   | consumed | whole rows … | part of a row | zeros |
    uint8_t *buffer
    size_t capacity, position, ready, filled
    size_t markup_end  # end of the markup at `position` that `run` stopped at
    uint8_t mismatched_refs  # not zero once a ref named another tag than its slot has
    bint no_memory
    # The value store.
    Table slots, fmts, frames, binaries, children
    Table pending  # children of elements that are still open
    # The open table.
    Table cells
    bint in_node
    size_t width
    size_t rows, all_rows  # of the open table, and of all
    # Strings, each once: string i is arena[offsets[i]:offsets[i + 1]].
    Table arena, offsets, scratch
    uint64_t *table  # open addressing; an entry is hash << 32 | string + 1, and 0 is free
    size_t table_mask
    # Tags.
    Tag *tags
    int tag_count
    uint8_t cache[TAG_CACHE]  # by a hash of a name's first eight bytes, the tag that was there last


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


cdef inline void set32(Table *table, int column, size_t row, int32_t number) noexcept nogil:
    (<int32_t *>table.data[column])[row] = number


cdef inline void set64(Table *table, int column, size_t row, uint64_t number) noexcept nogil:
    (<uint64_t *>table.data[column])[row] = number


cdef inline void append(Table *table, int32_t number) noexcept nogil:
    set32(table, 0, table.count, number)
    table.count += 1


cdef inline size_t new_slot(State *s, uint8_t tag) noexcept nogil:
    cdef size_t slot = s.slots.count
    s.slots.data[V_TAG][slot] = tag
    s.slots.data[V_FORM][slot] = NONE
    set64(&s.slots, V_VALUE, slot, 0)
    s.slots.count += 1
    return slot


cdef int reserve_for(State *s, size_t size) noexcept nogil:
    """Make room for everything that so many bytes can hold, so that the functions below need not check."""
    cdef size_t most = size // MIN_ELEMENT + 16
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
