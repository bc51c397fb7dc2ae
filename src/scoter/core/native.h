/* What all modules in C have in common: Python's stable ABI, and the number of the interface (see native.py). */

#ifndef SCOTER_NATIVE_H
#define SCOTER_NATIVE_H

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define SCOTER_INTERFACE 1

static inline PyObject *module_of(PyModuleDef *definition) {
    PyObject *module = PyModule_Create(definition);
    if (module && PyModule_AddIntConstant(module, "INTERFACE", SCOTER_INTERFACE))
        Py_CLEAR(module);
    return module;
}

#endif
