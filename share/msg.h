/*
 * msg.h - the only writer to stderr.
 *
 * Every line has the form `flame-TOOL: text`. Called from main and from the
 * few places that own a progress line; modules report through struct err or
 * through counters instead.
 */
#ifndef SHARE_MSG_H
#define SHARE_MSG_H

#include "share/compat.h"
#include "share/err.h"

/* tool: "collapse" and so on, kept by reference. Call first. */
void msg_init(const char *tool);

/* Drops msg_note() lines; msg_warn() and msg_error() always print. */
void msg_quiet(bool quiet);

void msg_note(const char *format, ...) PRINTF_LIKE(1, 2);
void msg_warn(const char *format, ...) PRINTF_LIKE(1, 2);
void msg_error(const char *format, ...) PRINTF_LIKE(1, 2);

/*
 * A line that the next one overwrites, and that msg_progress_end() takes
 * away. Callers see to it that stderr is a terminal.
 */
void msg_progress(const char *format, ...) PRINTF_LIKE(1, 2);
void msg_progress_end(void);

/* Prints err->text as an error and returns EXIT_FAILED. */
int msg_fail(const struct err *err);

/* "flame-collapse" for tool "collapse": the name people see. */
const char *msg_program(void);

#endif
