# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, infer_types=False
"""A scanner for the rows of an export: the subset of XML that ``xctrace`` writes, and nothing else.

It relies on three facts: ids are dense from 1 in document order, refs point backward, and each cell's value
is in the element that brings the id. One pass over the bytes then fills the value store and the matrix of
cell ids. At anything else (comments, CDATA, ids out of order, other attributes, bytes that are not UTF-8, …) it
stops for good, and the caller reads the whole document with another reader. It never guesses and never repairs.

The bytes are in a buffer that ends with zero bytes. Zero is in no class of characters that a loop passes over, so
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
    const uint8_t *number_to_quote(const uint8_t *p, uint64_t *value) nogil

# The reasons for which `Scanner.run` stops.
MORE, ROOT, NODE, SCHEMA, NODE_END, END, UNSUPPORTED = range(7)

include "scan_source/state.pxi"
include "scan_source/strings.pxi"
include "scan_source/tags.pxi"
include "scan_source/elements.pxi"
include "scan_source/frames.pxi"
include "scan_source/rows.pxi"


cdef class Column:
    """The memory of a column, as a buffer for numpy: freed with the last array on it, and never copied."""

    cdef uint8_t *data
    cdef Py_ssize_t size

    def __dealloc__(self):
        free(self.data)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <void *>self.data, self.size, 0, flags)

    def __releasebuffer__(self, Py_buffer *view):
        pass


cdef Column take_column(Table *table, int index):
    """Move a column's memory out of a table, without what was reserved in advance."""
    cdef Column column = Column.__new__(Column)
    cdef uint8_t *data
    column.size = table.count * table.width[index]
    data = <uint8_t *>realloc(table.data[index], max(column.size, 8))
    column.data = data if data != NULL else table.data[index]
    table.data[index] = NULL
    return column


cdef list take_columns(Table *table):
    columns = [take_column(table, index) for index in range(table.columns)]
    table.count = table.capacity = 0
    return columns


cdef void release(Table *table) noexcept:
    for index in range(table.columns):
        free(table.data[index])


cdef class Scanner:
    """The state of one document: ``feed`` bytes, ``run``, ``peek`` at the markup where it stopped, ``take`` that."""

    cdef State s

    def __cinit__(self, uint64_t seed):
        cdef State *s = &self.s
        memset(s, 0, sizeof(State))
        s.seed = seed
        # Each digit is the width in bytes of one column.
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
        """Append the next bytes; find out up to where every row is whole."""
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
        # The last five bytes before may be the first part of a </row>.
        self._find_ready(searched - 5 if searched > 5 else 0)

    cdef bint _make_room(self, size_t size):
        """Move what is not consumed to the buffer's start, and grow the buffer where that is not enough."""
        cdef State *s = &self.s
        cdef uint8_t *buffer
        cdef size_t capacity
        cdef size_t unread = s.filled - s.position
        if s.position and unread:
            memmove(s.buffer, s.buffer + s.position, unread)
        s.ready -= min(s.ready, s.position)
        s.filled, s.position = unread, 0
        if unread + size + PADDING > s.capacity:
            capacity = max(unread + size + PADDING, s.capacity + s.capacity // 2)
            buffer = <uint8_t *>realloc(s.buffer, capacity)
            if buffer == NULL:
                return False
            s.buffer, s.capacity = buffer, capacity
        return True

    cdef void _find_ready(self, size_t since) noexcept:
        """Set ``ready`` behind the last ``</row>``; there is none before ``since`` that was not found earlier."""
        cdef State *s = &self.s
        cdef size_t index = s.filled
        while index > since:
            index -= 1
            if s.buffer[index] == c'>' and index >= 5 and memcmp(s.buffer + index - 5, b"</row>", 6) == 0:
                s.ready = index + 1
                return

    def run(self, bint final=False):
        """Read on; return why it stopped. With ``final``, nothing more will come. Not after ``UNSUPPORTED``."""
        cdef State *s = &self.s
        cdef int reason
        if final:
            s.ready = s.filled
        with nogil:
            reason = scan(s)
        if s.no_memory:
            raise MemoryError
        return reason

    def peek(self):
        """Return the markup at which ``run`` stopped."""
        return PyBytes_FromStringAndSize(<char *>self.s.buffer + self.s.position, self.s.markup_end - self.s.position)

    def take(self):
        """Consume that markup."""
        self.s.position = self.s.markup_end

    def unread(self):
        """Return the bytes that were not consumed."""
        return PyBytes_FromStringAndSize(<char *>self.s.buffer + self.s.position, self.s.filled - self.s.position)

    @property
    def unread_bytes(self):
        """The number of bytes that were not consumed."""
        return self.s.filled - self.s.position

    @property
    def is_ready(self):
        """Whether a whole row is in the bytes that were not consumed."""
        return self.s.ready > self.s.position

    def begin_rows(self, size_t width):
        """Expect rows of ``width`` cells; none with a width of 0."""
        self.s.in_node = width > 0
        self.s.width = width
        self.s.rows = 0

    def end_rows(self):
        """Return the cells of the rows since ``begin_rows``, as a buffer of int32."""
        self.s.in_node = False
        return take_columns(&self.s.cells)[0]

    @property
    def rows(self):
        """The number of rows since ``begin_rows``."""
        return self.s.rows

    @property
    def all_rows(self):
        """The number of rows of the document so far."""
        return self.s.all_rows

    @property
    def held_bytes(self):
        """The memory of the values so far, in about as many bytes: a string becomes an object of Python."""
        cdef State *s = &self.s
        values = 11 * s.slots.count + 4 * s.children.count + 8 * s.fmts.count + 32 * (s.frames.count + s.binaries.count)
        return s.arena.count + 64 * s.offsets.count + values

    def tags(self):
        """Return the tags by their code."""
        cdef int code
        return [
            (<char *>self.s.tags[code].name)[:self.s.tags[code].length].decode() for code in range(self.s.tag_count)
        ]

    def strings(self):
        """Return every string once."""
        cdef int64_t *offsets = <int64_t *>self.s.offsets.data[0]
        cdef char *arena = <char *>self.s.arena.data[0]
        cdef size_t row
        return [
            PyUnicode_DecodeUTF8(arena + offsets[row], offsets[row + 1] - offsets[row], NULL)
            for row in range(self.s.offsets.count - 1)
        ]

    def columns(self):
        """Return the columns of slots, kept fmts, frames and binaries, and the children's slots, as buffers.

        The scanner cannot be used afterwards.
        """
        cdef State *s = &self.s
        tables = [take_columns(&s.slots), take_columns(&s.fmts), take_columns(&s.frames), take_columns(&s.binaries)]
        return *tables, take_columns(&s.children)[0]
