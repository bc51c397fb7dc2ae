/* Searches in bytes, as byte_search.py has them in Python. */

#include "../core/native.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

PyDoc_STRVAR(count_doc, "count(data, byte)\n--\n\nCount the occurrences of a byte.");

static PyObject *count(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer data;
    int byte;
    if (!PyArg_ParseTuple(args, "y*i", &data, &byte))
        return NULL;
    const unsigned char *bytes = data.buf;
    const uint64_t ones = 0x0101010101010101u, low = 0x7f * ones, wanted = (unsigned char)byte * ones;
    Py_ssize_t found = 0, at = 0;
    while (data.len - at >= (Py_ssize_t)sizeof ones) {
        uint64_t sums = 0; /* of eight bytes at once, none of which overflows */
        Py_ssize_t left = (data.len - at) / (Py_ssize_t)sizeof ones;
        for (int each = left < 255 ? (int)left : 255; each; each--, at += (Py_ssize_t)sizeof ones) {
            uint64_t eight;
            memcpy(&eight, bytes + at, sizeof eight);
            eight ^= wanted;
            sums += ~(((eight & low) + low) | eight | low) >> 7;
        }
        for (; sums; sums >>= 8)
            found += sums & 0xff;
    }
    for (; at < data.len; at++)
        found += bytes[at] == byte;
    PyBuffer_Release(&data);
    return PyLong_FromSsize_t(found);
}

/* The length of the character that a text begins with, or 0 if it is not UTF-8 (RFC 3629). */
static size_t character(const unsigned char *at, size_t length) {
    unsigned char first = at[0], least = 0x80, most = 0xbf;
    if (first < 0x80)
        return 1;
    size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first < 0xc2 || first > 0xf4 || size > length)
        return 0;
    if (first == 0xe0)
        least = 0xa0; /* shorter forms exist */
    else if (first == 0xed)
        most = 0x9f; /* surrogates */
    else if (first == 0xf0)
        least = 0x90;
    else if (first == 0xf4)
        most = 0x8f; /* above U+10FFFF */
    if (at[1] < least || at[1] > most)
        return 0;
    for (size_t each = 2; each < size; each++) {
        if ((at[each] & 0xc0) != 0x80)
            return 0;
    }
    return size;
}

PyDoc_STRVAR(is_utf8_doc, "is_utf8(data)\n--\n\nTell whether all bytes are valid UTF-8.");

static PyObject *is_utf8(PyObject *Py_UNUSED(module), PyObject *args) {
    Py_buffer data;
    if (!PyArg_ParseTuple(args, "y*", &data))
        return NULL;
    const unsigned char *bytes = data.buf;
    size_t at = 0, length = (size_t)data.len;
    bool valid = true;
    while (at < length && valid) {
        uint64_t four[4];
        if (length - at >= sizeof four) {
            memcpy(four, bytes + at, sizeof four);
            if (((four[0] | four[1] | four[2] | four[3]) & 0x8080808080808080u) == 0) {
                at += sizeof four;
                continue;
            }
        }
        size_t size = character(bytes + at, length - at);
        valid = size > 0;
        at += size;
    }
    PyBuffer_Release(&data);
    return PyBool_FromLong(valid);
}

static PyMethodDef methods[] = {
    {"count", count, METH_VARARGS, count_doc},
    {"is_utf8", is_utf8, METH_VARARGS, is_utf8_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_bytes", "Searches in bytes, in C.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__bytes(void) {
    return module_of(&definition);
}
