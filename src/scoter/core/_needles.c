/* Whether any of several byte strings occurs in others, as Needles in needles.py tells.

   Every string has SHORTEST bytes, so wherever it lies, one of its first triples begins at a place that is a multiple
   of STEP. Only these places are looked up, in a set of all such triples. */

#include "native.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SHORTEST = 6, TRIPLE = 3, STEP = SHORTEST - TRIPLE + 1, MOST = 64, SLOTS = 1 << 16 };

/* One of the first triples of a string, and how many bytes are before it. */
typedef struct {
    uint32_t triple;
    const unsigned char *needle;
    size_t length, before;
} start;

static uint32_t triple_at(const unsigned char *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16;
}

static uint32_t slot(uint32_t triple) {
    return triple * 0x9e3779b1u >> 16;
}

/* Whether one of the strings lies where its triple is at a place. */
static bool is_at(const start *starts, size_t count, const unsigned char *data, size_t size, size_t at) {
    uint32_t triple = triple_at(data + at);
    for (const start *each = starts; each < starts + count; each++) {
        if (each->triple == triple && each->before <= at && each->length <= size - (at - each->before) &&
            !memcmp(each->needle, data + at - each->before, each->length))
            return true;
    }
    return false;
}

PyDoc_STRVAR(occur_doc, "occur(data, needles)\n--\n\nTell whether one of a tuple of byte strings occurs in the data.");

static PyObject *occur(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer data;
    PyObject *given;
    start starts[MOST * STEP];
    size_t used = 0;
    unsigned char slots[SLOTS / 8] = {0};
    if (!PyArg_ParseTuple(args, "y*O!", &data, &PyTuple_Type, &given))
        return NULL;
    Py_ssize_t count = PyTuple_Size(given);
    bool valid = count <= MOST;
    for (Py_ssize_t each = 0; each < count && valid; each++) {
        char *bytes;
        Py_ssize_t length;
        valid = PyBytes_AsStringAndSize(PyTuple_GetItem(given, each), &bytes, &length) == 0 && length >= SHORTEST;
        if (!valid)
            break;
        const unsigned char *needle = (const unsigned char *)bytes;
        for (size_t before = 0; before < STEP; before++) {
            uint32_t triple = triple_at(needle + before), taken = slot(triple);
            starts[used++] = (start){triple, needle, (size_t)length, before};
            slots[taken / 8] |= (unsigned char)(1 << taken % 8);
        }
    }
    if (!valid) {
        PyBuffer_Release(&data);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "too many byte strings, or one is too short");
        return NULL;
    }
    const unsigned char *bytes = data.buf;
    size_t size = (size_t)data.len;
    bool found = false;
    for (size_t at = 0; at + TRIPLE <= size && !found; at += STEP) {
        uint32_t wanted = slot(triple_at(bytes + at));
        found = slots[wanted / 8] >> wanted % 8 & 1 && is_at(starts, used, bytes, size, at);
    }
    PyBuffer_Release(&data);
    return PyBool_FromLong(found);
}

static PyMethodDef methods[] = {{"occur", occur, METH_VARARGS, occur_doc}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_needles", "Searches for several byte strings, in C.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__needles(void) {
    return module_of(&definition);
}
