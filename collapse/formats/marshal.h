/*
 * marshal.h - Python's and Ruby's marshalled data, as JSON.
 *
 * Formats that come in JSON and marshalled, or hold plain data only, then need
 * one reader. Dictionaries of Python become arrays of [key, value], as their
 * keys need not be strings; those of Ruby become objects. References to
 * objects seen before are written out again, within a bound on the whole
 * (1 MiB and 16 times the input), beyond which the data is taken for hostile.
 *
 * Source: CPython 3.12, Python/marshal.c; Ruby 3.2, doc/marshal.rdoc.
 */
#ifndef COLLAPSE_MARSHAL_H
#define COLLAPSE_MARSHAL_H

#include "share/buf.h"
#include "share/compat.h"
#include "share/err.h"

#define MARSHAL_RUBY_MAGIC "\x04\x08"

int marshal_python(struct slice bytes, struct buf *json, struct err *err);
int marshal_ruby(struct slice bytes, struct buf *json, struct err *err);

#endif
