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

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove, memset, strlen

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8

cdef extern from "scan_source/bytes.h":
    uint64_t load64(const uint8_t *p) nogil
    const uint8_t *next_special(const uint8_t *p, uint8_t other) nogil
    uint64_t mix(uint64_t a, uint64_t b) nogil
    void prefetch(void *place) nogil
    const uint8_t *number_to_quote(const uint8_t *p, uint64_t *value) nogil

# What `Scanner.run` stopped at.
MORE, ROOT, NODE, SCHEMA, NODE_END, END, STRANGE = range(7)

include "scan_source/state.pxi"
include "scan_source/strings.pxi"
include "scan_source/tags.pxi"
include "scan_source/elements.pxi"
include "scan_source/frames.pxi"
include "scan_source/rows.pxi"
include "scan_source/parts.pxi"


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
    """Holds one document while it is read: ``feed`` bytes, ``run``, look at what it stopped at, ``take`` that.

    With ``base`` it begins in the middle, where ``base`` is the next id: of slots before that it notes with which
    tag they were referred to.
    """

    cdef State s

    def __cinit__(self, uint64_t seed, size_t base=1):
        cdef State *s = &self.s
        memset(s, 0, sizeof(State))
        s.seed = seed
        prepare(&s.slots, "118")
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
        if not self._make_room(0):
            raise MemoryError
        memset(s.buffer, 0, PADDING)
        new_tag(s, <Bytes>b"sentinel", 8)
        new_slot(s, 0)
        s.base = base
        if base > 1:
            if not reserve(&s.slots, base):
                raise MemoryError
            memset(s.slots.data[V_TAG] + 1, NOT_SEEN, base - 1)
            s.slots.count = base
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
        cdef size_t room
        cdef size_t left = s.filled - s.at
        if s.at and left:
            memmove(s.buffer, s.buffer + s.at, left)
        s.ready -= min(s.ready, s.at)
        s.filled, s.at = left, 0
        if left + size + PADDING > s.capacity:
            room = max(left + size + PADDING, s.capacity + s.capacity // 2)
            buffer = <uint8_t *>realloc(s.buffer, room)
            if buffer == NULL:
                return False
            s.buffer, s.capacity = buffer, room
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
    def slots(self):
        """How many slots there are: the next id."""
        return self.s.slots.count

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

    def absorb(self, Scanner later, cells):
        """Append what ``later`` read from where this one stands; ``cells``, as ``end_rows`` gives them, are its rows.

        Returns False, and nothing is changed, when the two do not fit, or there is no memory for both; else
        ``later`` cannot be used afterwards.
        """
        cdef const int32_t[::1] rows = cells
        cdef size_t count = rows.shape[0]
        cdef int done
        with nogil:
            done = fits(&self.s, &later.s) and absorb(&self.s, &later.s, count)
        if not done:
            return False
        if count:
            memcpy(self.s.cells.data[0] + 4 * self.s.cells.count, &rows[0], 4 * count)
        self.s.cells.count += count
        return True

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
