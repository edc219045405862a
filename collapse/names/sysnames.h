/*
 * sysnames.h - names of system calls by their numbers.
 *
 * Source: arch/x86/entry/syscalls/syscall_64.tbl and
 * include/uapi/asm-generic/unistd.h of Linux 6.1, whose numbers are never
 * given out again; from 424 on they are the same everywhere. A 32-bit program
 * on a 64-bit kernel counts otherwise, and a recording does not tell it apart.
 */
#ifndef COLLAPSE_SYSNAMES_H
#define COLLAPSE_SYSNAMES_H

#include "collapse/records/sample.h"
#include "share/compat.h"

/* machine: e_machine, elf.h. Empty where the number is not known. */
struct slice sysnames_of(uint16_t machine, int64_t number);

/* The number of the call that a sample of raw_syscalls:sys_enter or sys_exit tells; else -1. */
int64_t sysnames_number(const struct reader *reader, const struct event *event,
                        const struct sample *sample);

#endif
