/* Two searches of the pre-scan in C. prescan.py has the same in Python, and the reasons. */

#include "../core/native.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST_NAME = 6 };

typedef struct {
    const char *at, *end;
} rest;

static const char *const watched_names[] = {"html", "body", "b",    "i",     "u",      "s",     "em",    "tt",
                                            "big",  "font", "code", "nobr",  "small",  "strong", "strike", NULL};
static const char *const inner_names[] = {"span", "code", "em", "strong", "b", "i", "u", "s", "tt", "big", "small", NULL};

static bool is_space(char byte) {
    return byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r' || byte == ' ';
}

static bool is_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_one_of(const char *const names[], const char *name, size_t length, bool any_case) {
    char lower[LONGEST_NAME];
    if (length == 0 || length > LONGEST_NAME)
        return false;
    for (size_t at = 0; at < length; at++)
        lower[at] = any_case ? (char)(name[at] | 0x20) : name[at];
    for (; *names; names++) {
        if (**names == lower[0] && strlen(*names) == length && !memcmp(*names, lower, length))
            return true;
    }
    return false;
}

static size_t letters_at(rest from) {
    size_t length = 0;
    while (from.at + length < from.end && is_letter(from.at[length]))
        length++;
    return length;
}

static bool skip(rest *from, char byte) {
    if (from->at == from->end || *from->at != byte)
        return false;
    from->at++;
    return true;
}

static void skip_spaces(rest *from) {
    while (from->at < from->end && is_space(*from->at))
        from->at++;
}

static void skip_text(rest *from) {
    const char *found = memchr(from->at, '<', (size_t)(from->end - from->at));
    from->at = found ? found : from->end;
}

/* An attribute with a value in double quotes. */
static bool skip_attribute(rest *from) {
    rest to = *from;
    skip_spaces(&to);
    const char *name = to.at;
    while (to.at < to.end && (is_letter(*to.at) || *to.at == '-'))
        to.at++;
    if (name == from->at || to.at == name || !skip(&to, '=') || !skip(&to, '"'))
        return false;
    while (to.at < to.end && *to.at != '"' && *to.at != '<' && *to.at != '>')
        to.at++;
    if (!skip(&to, '"'))
        return false;
    *from = to;
    return true;
}

/* The attributes of a start tag, its end, and the text after it. */
static bool skip_attributes(rest *from) {
    while (skip_attribute(from))
        ;
    skip_spaces(from);
    if (!skip(from, '>'))
        return false;
    skip_text(from);
    return true;
}

static bool skip_end_tag(rest *from, const char *name, size_t length) {
    rest to = *from;
    if (!skip(&to, '<') || !skip(&to, '/') || (size_t)(to.end - to.at) < length || memcmp(to.at, name, length))
        return false;
    to.at += length;
    if (!skip(&to, '>'))
        return false;
    *from = to;
    return true;
}

/* An element that contains only text and, at the first level, such elements, and the text after it. */
static bool skip_inner(rest *from, int level) {
    rest to = *from;
    if (!skip(&to, '<'))
        return false;
    const char *name = to.at;
    size_t length = letters_at(to);
    to.at += length;
    if (!is_one_of(inner_names, name, length, false) || !skip_attributes(&to))
        return false;
    while (level == 1 && skip_inner(&to, 2))
        ;
    if (!skip_end_tag(&to, name, length))
        return false;
    skip_text(&to);
    *from = to;
    return true;
}

static bool skip_closed(rest *from, const char *name, size_t length) {
    rest to = *from;
    if (!is_space(*to.at) || !skip_attributes(&to))
        return false;
    while (skip_inner(&to, 1))
        ;
    if (!skip_end_tag(&to, name, length))
        return false;
    *from = to;
    return true;
}

PyDoc_STRVAR(watched_doc,
             "watched(body, few)\n--\n\n"
             "Return the names of watched elements; if there are as many as ``few``, without those closed at once.");

static PyObject *watched(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *body;
    Py_ssize_t size, few;
    if (!PyArg_ParseTuple(args, "y#n", &body, &size, &few))
        return NULL;
    PyObject *found = PyList_New(0);
    bool all = true; /* first those that are closed at once, too */
    rest left = {body, body + size};
    while (found) {
        skip_text(&left);
        if (!skip(&left, '<'))
            break;
        const char *name = left.at;
        size_t length = letters_at(left);
        if (!is_one_of(watched_names, name, length, true))
            continue;
        left.at += length;
        if (left.at == left.end || !(is_space(*left.at) || *left.at == '/'))
            continue;
        if (!all && (skip_closed(&left, name, length) || left.end - left.at < 2))
            continue;
        left.at++;
        PyObject *text = PyBytes_FromStringAndSize(name, (Py_ssize_t)length);
        if (text == NULL || PyList_Append(found, text))
            Py_CLEAR(found);
        Py_XDECREF(text);
        if (found && all && PyList_Size(found) == few) {
            all = false;
            left.at = body;
            Py_DECREF(found);
            found = PyList_New(0);
        }
    }
    return found;
}

/* A value; one without quotes may be empty. */
static void skip_value(rest *from) {
    char quote = from->at < from->end ? *from->at : 0;
    if (quote == '"' || quote == '\'') {
        from->at++;
        const char *found = memchr(from->at, quote, (size_t)(from->end - from->at));
        from->at = found ? found + 1 : from->end;
        return;
    }
    while (from->at < from->end && !is_space(*from->at) && *from->at != '>')
        from->at++;
}

static bool tag_ends(rest from) {
    while (from.at < from.end) {
        if (*from.at == '>')
            return true;
        if (is_space(*from.at) || *from.at == '/') {
            from.at++;
            continue;
        }
        from.at++; /* a name may begin with an equals sign */
        while (from.at < from.end && !is_space(*from.at) && *from.at != '/' && *from.at != '>' && *from.at != '=')
            from.at++;
        skip_spaces(&from);
        if (skip(&from, '=')) {
            skip_spaces(&from);
            skip_value(&from);
        }
    }
    return false;
}

PyDoc_STRVAR(ends_doc,
             "ends(block, place)\n--\n\n"
             "Return whether a tag ends in a block, if its attributes continue at a place of it.");

static PyObject *ends(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *block;
    Py_ssize_t size, place;
    if (!PyArg_ParseTuple(args, "y#n", &block, &size, &place))
        return NULL;
    if (place < 0 || place > size) {
        PyErr_SetString(PyExc_ValueError, "not a place in the block");
        return NULL;
    }
    return PyBool_FromLong(tag_ends((rest){block + place, block + size}));
}

static PyMethodDef methods[] = {
    {"watched", watched, METH_VARARGS, watched_doc},
    {"ends", ends, METH_VARARGS, ends_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_prescan", "Searches of the pre-scan, in C.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__prescan(void) {
    return module_of(&definition);
}
