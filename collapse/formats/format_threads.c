/*
 * format_threads.c - dumps of all threads of a process: each thread is one
 * sample, its frames stand innermost first.
 *
 *   gdb           'Thread N (... "NAME"):', "#0  0xADDR in NAME (ARGS) at
 *                 FILE:LINE"; gdb(1)
 *   eu-stack      "TID N:", "#0  0xADDR NAME - MODULE"; eu-stack(1), pstack(1)
 *   jstack        '"NAME" #N ... ', "   java.lang.Thread.State: STATE",
 *                 "at CLASS.METHOD(FILE:LINE)"; jstack(1), JRockit. Through the
 *                 serviceability agent (jstack -F, jhsdb): "Thread N: (state =
 *                 STATE)", " - CLASS.METHOD(ARGS) @bci=N". Of jcmd
 *                 Thread.dump_to_file: '#N "NAME" virtual STATE TIME', frames with
 *                 or without "at"
 *   javacore      '3XMTHREADINFO "NAME" ..., state:S', "4XESTACKTRACE at ...",
 *                 "4XENATIVESTACK NAME+0xOFF (...)"; Eclipse OpenJ9
 *                 documentation, Java dump, THREADS
 *   faulthandler  "Thread 0xID [NAME] (most recent call first):",
 *                 '  File "PATH", line N in NAME'; Python library reference
 *   goroutines    "goroutine N [STATE]:", "NAME(ARGS)", "\tFILE:LINE"; Go runtime
 *   exceptions    "EXCEPTION: text", "\tat CLASS.METHOD(FILE:LINE)" in logs
 *
 * The thread's name is a root frame where the dump has one, numbers at its end
 * left out so that a pool is one tower (--tid keeps them).
 */
#include "share/compat.h"
#include "collapse/formats/format.h"

#include "collapse/formats/callers.h"
#include "share/num.h"

struct threads {
	struct folder *folder;
	const struct format_options *options;
	struct format_report *report;
	struct err *err;
	struct callers callers;
	struct callers outer; /* of the exception that another one caused */
	struct buf name;
	bool is_in_thread, is_too_large;
	bool is_left_out;  /* --value asks for another state */
	bool is_dumped;    /* jstack: of jcmd Thread.dump_to_file */
	bool counts_empty; /* a heading stands for a thread even where no frame follows */
	size_t suppressed; /* exceptions: indent of what an exception suppressed, or 0 */
	bool is_repeated;  /* javacore: the current thread comes again among all */
	bool has_java_frames;
};

/* ---- the thread at hand ---- */

static void end_thread(struct threads *t)
{
	struct folder *folder = t->folder;
	uint32_t node = 0;

	if (t->is_in_thread && t->is_left_out) {
		t->report->nr_left_out++;
		t->report->left_out = "threads in other states";
	} else if (t->is_in_thread && (t->callers.nr || t->name.size || t->counts_empty)) {
		if (t->options->by_comm && t->name.size)
			node = folder_child(folder, node,
			                    folder_name(folder, t->name.at, t->name.size));
		if (t->callers.nr)
			node = callers_node(&t->callers, folder, node);
		else
			node = folder_child(folder, node, folder_name(folder, "[no stack]", 10));
		t->is_too_large =
		        !format_count(folder, node, weight_from_u64(1), t->report, t->err);
	}
	t->is_in_thread = t->is_left_out = t->has_java_frames = t->counts_empty = false;
	callers_reset(&t->callers);
}

static bool is_name_end(char c)
{
	return (c >= '0' && c <= '9') || strchr("-#_ /.:", c);
}

/* name may be empty: the dump tells none. */
static void begin_thread(struct threads *t, struct slice name)
{
	end_thread(t);
	t->is_in_thread = true;
	buf_reset(&t->name);
	if (!t->options->by_tid && name.size && slice_is_digits(slice_from(name, name.size - 1)))
		while (name.size > 1 && is_name_end(name.at[name.size - 1]))
			name.size--;
	buf_add(&t->name, name.at, name.size);
}

/* What stands between the first and the last double quote; empty where nothing does. */
static struct slice quoted(struct slice s)
{
	const char *first = s.size ? memchr(s.at, '"', s.size) : NULL,
	           *last = s.size ? memrchr(s.at, '"', s.size) : NULL;

	return last > first ? (struct slice){first + 1, (size_t)(last - first) - 1} :
	                      (struct slice){"", 0};
}

static void add_frame(struct threads *t, struct slice name)
{
	name = slice_trim(name);
	if (t->is_in_thread && name.size)
		callers_add(&t->callers, t->folder, name);
}

/*
 * Where the argument list of "f(int, g<(a)1>) const (a=1)" begins that gdb
 * adds: a blank and "(" outside of all brackets; s.size where there is none.
 */
static size_t find_arguments(struct slice s)
{
	int depth = 0;

	for (size_t i = 0; i + 1 < s.size; i++) {
		if (slice_starts(slice_from(s, i), "operator")) { /* "operator<<" opens nothing */
			for (i += 8; i < s.size && strchr("<>-=", s.at[i]); i++)
				;
			if (i + 1 >= s.size)
				break;
		}
		if (depth == 0 && s.at[i] == ' ' && s.at[i + 1] == '(')
			return i;
		if (s.at[i] == '(' || s.at[i] == '<')
			depth++;
		else if ((s.at[i] == ')' || s.at[i] == '>') && depth)
			depth--;
	}
	return s.size;
}

/* "#12 0x... NAME" behind number and address; false where it is no such line. */
static bool cut_frame_number(struct slice *text)
{
	size_t size = 1;

	if (!text->size || *text->at != '#')
		return false;
	while (size < text->size && text->at[size] >= '0' && text->at[size] <= '9')
		size++;
	if (size == 1 || size == text->size || !strchr(" \t", text->at[size]))
		return false;
	*text = slice_trim(slice_from(*text, size));
	if (slice_starts(*text, "0x"))
		*text = slice_trim(slice_from(*text, slice_find(*text, " ")));
	return true;
}

/* ---- gdb ---- */

static int detect_gdb(struct slice head, bool is_all UNUSED)
{
	bool has_frames = slice_starts(head, "#0 ") || head_has(head, "\n#0 ");

	if (!has_frames || head_has(head, "\nTID "))
		return 0;
	return head_has(head, "\nThread ") || slice_starts(head, "Thread ") ? 85 : 45;
}

static void line_gdb(struct threads *t, struct slice line)
{
	struct slice text = slice_trim(line);
	bool is_first = slice_starts(text, "#0 ");

	if (slice_starts(text, "Thread ") || slice_starts(text, "TID ") ||
	    slice_starts(text, "PID ")) {
		begin_thread(t, quoted(text));
		return;
	}
	if (!cut_frame_number(&text))
		return;
	/* one stack after the other without headings, as pstack prints them */
	if (is_first && (!t->is_in_thread || t->callers.nr))
		begin_thread(t, (struct slice){"", 0});
	if (slice_starts(text, "in "))
		text = slice_from(text, 3);
	if (slice_starts(text, "<signal handler called>"))
		text = (struct slice){"[signal handler called]", 23};
	text.size = find_arguments(text);
	add_frame(t, text);
}

/* ---- eu-stack, pstack ---- */

static int detect_eu_stack(struct slice head, bool is_all UNUSED)
{
	return (head_has(head, "\nTID ") || slice_starts(head, "TID ")) && head_has(head, "\n#0 ") ?
	               90 :
	               0;
}

static void line_eu_stack(struct threads *t, struct slice line)
{
	struct slice text = slice_trim(line);

	if (slice_starts(text, "TID ")) {
		begin_thread(t, (struct slice){"", 0});
		return;
	}
	if (!cut_frame_number(&text))
		return;
	/* "NAME - MODULE   FILE:LINE"; a first "- 1" marks a lowered address */
	if (slice_starts(text, "- 1 "))
		text = slice_trim(slice_from(text, 4));
	text.size = slice_find(text, " - /");
	add_frame(t, text);
}

/* ---- Java ---- */

/* '#12 "NAME" RUNNABLE TIME', as jcmd Thread.dump_to_file begins a thread */
static bool begins_dumped_thread(struct slice text)
{
	size_t blank = slice_find(text, " ");

	return slice_starts(text, "#") && blank > 1 &&
	       slice_is_digits((struct slice){text.at + 1, blank - 1}) &&
	       slice_starts(slice_from(text, blank), " \"");
}

static int detect_jstack(struct slice head, bool is_all UNUSED)
{
	struct slice rest = head, line;

	if (head_has(head, "Full thread dump") || head_has(head, "FULL THREAD DUMP"))
		return 90;
	if (head_has(head, " @bci=") && head_has(head, "\n - "))
		return 85;
	for (int i = 0; i < 10 && slice_next_line(&rest, &line); i++)
		if (begins_dumped_thread(line))
			return 85;
	return head_has(head, "java.lang.Thread.State:") && head_has(head, "at ") ? 80 : 0;
}

/* "java.base/CLASS.METHOD(FILE:LINE)" to "CLASS.METHOD", with --srcline " FILE:LINE". */
static void add_java_frame(struct threads *t, struct slice text)
{
	struct buf name = {0};
	size_t open;

	text = slice_trim(text);
	buf_add(&name, text.at, slice_find(text, "("));
	/* JRockit writes signatures: the place in the source is the last pair */
	for (open = text.size; open && text.at[open - 1] != '('; open--)
		;
	if (t->options->srcline && open && slice_ends(text, ")")) {
		buf_char(&name, ' ');
		buf_add(&name, text.at + open, text.size - open - 1);
	}
	add_frame(t, (struct slice){name.at, name.size});
	buf_release(&name);
}

/* Threads of other states than --value asks for are left out. */
static void take_state(struct threads *t, struct slice text)
{
	text.size = MIN_OF(slice_find(text, " "), slice_find(text, ")"));
	t->is_left_out = t->options->value && !slice_equals(text, t->options->value);
}

static void line_jstack(struct threads *t, struct slice line)
{
	struct slice text = slice_trim(line);
	size_t at;

	if (!text.size)
		return;
	if (*text.at == '"') {
		if (quoted(text).size)
			begin_thread(t, quoted(text));
	} else if (begins_dumped_thread(line)) {
		const char *end = memrchr(text.at, '"', text.size);

		begin_thread(t, quoted(text));
		text = slice_trim(slice_from(text, (size_t)(end + 1 - text.at)));
		if (slice_starts(text, "virtual"))
			text = slice_trim(slice_from(text, 7));
		if (text.size)
			take_state(t, text);
		t->is_dumped = true;
	} else if (slice_starts(text, "at ")) {
		add_java_frame(t, slice_from(text, 3));
	} else if (slice_starts(text, "- ") && (at = slice_find(text, " @bci=")) < text.size) {
		text.size = at;
		add_java_frame(t, slice_from(text, 2));
	} else if (slice_starts(text, "Thread ") &&
	           (at = slice_find(text, ": (state = ")) < text.size) {
		begin_thread(t, (struct slice){"", 0});
		take_state(t, slice_from(text, at + 11));
	} else if (slice_starts(text, "java.lang.Thread.State: ")) {
		take_state(t, slice_from(text, 24));
	} else if (slice_starts(text, "JNI global ref")) {
		end_thread(t);
	} else if (t->is_dumped && slice_starts(line, "    ") && slice_ends(text, ")")) {
		add_java_frame(t, text); /* until JDK 24 */
	}
}

/* ---- IBM Java and OpenJ9 ---- */

static int detect_javacore(struct slice head, bool is_all UNUSED)
{
	return slice_starts(head, "3XMTHREADINFO ") || head_has(head, "\n3XMTHREADINFO ") ||
	                       head_has(head, "\n1XMTHDINFO ") ||
	                       head_has(head, "subcomponent dump routine") ?
	               92 :
	               0;
}

/* The text behind the tag of a line, or false where the tag is another. */
static bool cut_tag(struct slice line, const char *tag, struct slice *text)
{
	size_t size = strlen(tag);

	if (!slice_starts(line, tag) || (line.size > size && !strchr(" \t", line.at[size])))
		return false;
	*text = slice_trim(slice_from(line, size));
	return true;
}

static void begin_javacore_thread(struct threads *t, struct slice text)
{
	struct slice state;

	begin_thread(t, *text.at == '"' && quoted(text).size ? quoted(text) : text);
	state = slice_from(text, slice_find(text, " state:") + 7);
	state.size = slice_find(state, ",");
	t->is_left_out = t->options->value && !slice_equals(state, t->options->value);
}

/* "at java/lang/Object.wait(Object.java:221(Compiled Code))" as other JVMs write it */
static void add_javacore_frame(struct threads *t, struct slice text)
{
	struct buf name = {0};

	if (slice_starts(text, "at "))
		text = slice_from(text, 3);
	buf_add(&name, text.at, slice_find(text, "("));
	for (size_t i = 0; i < name.size; i++)
		if (name.at[i] == '/')
			name.at[i] = '.';
	text = slice_from(text, name.size + 1);
	text.size = MIN_OF(slice_find(text, "("), slice_find(text, ")"));
	if (t->options->srcline && text.size)
		buf_printf(&name, " %.*s", (int)MIN_OF(text.size, (size_t)1000), text.at);
	add_frame(t, (struct slice){name.at, name.size});
	buf_release(&name);
}

/* "NAME+0x41 (FILE:LINE, 0xADDR [FILE+0xOFF])", or the brackets alone: "[FILE]" */
static void add_native_frame(struct threads *t, struct slice text)
{
	size_t end = MIN_OF(slice_find(text, "+0x"), slice_find(text, " (")),
	       bracket = slice_find(text, "[");
	struct buf name = {0};

	if (slice_starts(text, "(") && bracket < text.size) {
		buf_add(&name, text.at + bracket, end > bracket ? end - bracket : 1);
		buf_char(&name, ']');
		text = (struct slice){name.at, name.size};
	} else {
		text.size = end;
	}
	add_frame(t, text);
	buf_release(&name);
}

/*
 * Below the Java methods of a thread lie those of the VM, which run them: they
 * are taken only where there are no others.
 */
static void line_javacore(struct threads *t, struct slice line)
{
	struct slice text;

	if (slice_starts(line, "1XM")) {
		end_thread(t);
		t->is_repeated = slice_starts(line, "1XMCURTHDINFO");
	} else if (slice_starts(line, "0SECTION")) {
		end_thread(t);
	} else if (t->is_repeated) {
		return;
	} else if (cut_tag(line, "3XMTHREADINFO", &text) && text.size) {
		begin_javacore_thread(t, text);
	} else if (cut_tag(line, "4XESTACKTRACE", &text)) {
		t->has_java_frames = true;
		add_javacore_frame(t, text);
	} else if (cut_tag(line, "4XENATIVESTACK", &text) && !t->has_java_frames) {
		add_native_frame(t, text);
	}
}

/* ---- Java exceptions ---- */

static int detect_exceptions(struct slice head, bool is_all UNUSED)
{
	if (detect_jstack(head, false))
		return 0;
	return (head_has(head, "Exception") || head_has(head, "Error")) &&
	                       head_has(head, "\n\tat ") ?
	               40 :
	               0;
}

/* Each exception is one sample; causes ("Caused by:") are parts of it. */
static void line_exceptions(struct threads *t, struct slice line)
{
	struct slice text = slice_trim(line);
	size_t indent = (size_t)(text.at - line.at);

	if (t->suppressed && text.size && indent < t->suppressed)
		t->suppressed = 0;
	if (t->suppressed)
		return;
	if (slice_starts(text, "Suppressed: ") && indent) {
		t->suppressed = indent; /* it happened on the way out of the exception */
	} else if (slice_starts(text, "at ")) {
		add_java_frame(t, slice_from(text, 3));
	} else if (slice_starts(text, "Caused by:")) {
		struct callers swap = t->outer;

		/* the cause is what happened; its outer frames are those of the exception above */
		t->outer = t->callers;
		t->callers = swap;
		callers_reset(&t->callers);
	} else if (slice_starts(text, "... ") && slice_ends(text, " more")) {
		uint64_t nr;

		text = slice_from(text, 4);
		if (num_parse_u64(text.at, slice_find(text, " "), &nr) == 0)
			callers_add_outermost(&t->callers, &t->outer, nr);
	} else if (text.size) {
		size_t end = slice_find(text, "Exception");

		if (end == text.size)
			end = slice_find(text, "Error");
		if (end < text.size)
			begin_thread(t, (struct slice){"", 0});
		else
			end_thread(t);
	}
}

/* ---- Python faulthandler ---- */

static int detect_faulthandler(struct slice head, bool is_all UNUSED)
{
	return head_has(head, "(most recent call first):") && head_has(head, "  File \"") ? 95 : 0;
}

/* "Thread 0x7f12 [NAME] (most recent ...", as Python 3.14 has it */
static struct slice bracketed(struct slice s)
{
	size_t open = slice_find(s, " [");
	struct slice name = slice_from(s, open + 2);

	name.size = MIN_OF(name.size, slice_find(name, "] ("));
	return open < s.size ? name : (struct slice){"", 0};
}

static void line_faulthandler(struct threads *t, struct slice line)
{
	struct slice text = slice_trim(line), path, name;
	struct buf frame = {0};
	size_t in;

	if (slice_ends(text, "(most recent call first):") &&
	    slice_find(text, "'s C ") == text.size) {
		begin_thread(t, bracketed(text));
		t->counts_empty = true;
		return;
	}
	if (!slice_starts(text, "File \"")) {
		if (!slice_equals(text, "...")) /* of more than 100 */
			end_thread(t);
		return;
	}
	path = slice_from(text, 6);
	path.size = slice_find(path, "\"");
	text = slice_from(text, 6 + path.size + 1); /* ", line N in NAME" */
	in = slice_find(text, " in ");
	name = slice_from(text, in + 4);
	text.size = in;
	text = slice_from(text, 7);
	buf_add(&frame, path.at, path.size);
	buf_char(&frame, ':');
	buf_add(&frame, text.at, text.size);
	buf_char(&frame, ':');
	buf_add(&frame, name.at, name.size);
	add_frame(t, (struct slice){frame.at, frame.size});
	buf_release(&frame);
}

/* ---- Go ---- */

static int detect_goroutines(struct slice head, bool is_all UNUSED)
{
	return (slice_starts(head, "goroutine ") || head_has(head, "\ngoroutine ")) &&
	                       head_has(head, "]:\n") ?
	               90 :
	               0;
}

static void line_goroutines(struct threads *t, struct slice line)
{
	struct slice text = slice_trim(line);
	size_t open;

	if (slice_starts(text, "goroutine ") && slice_ends(text, "]:")) {
		begin_thread(t, (struct slice){"", 0});
		t->counts_empty = true;
		return;
	}
	if (!text.size) {
		end_thread(t);
		return;
	}
	/* "\tFILE:LINE +0xOFF" belongs to the frame above */
	if (line.size && strchr(" \t", *line.at))
		return;
	if (slice_starts(text, "created by "))
		text = slice_from(text, 11);
	else if (!slice_ends(text, ")"))
		return; /* "exit status 2", "...additional frames elided..." */
	if (slice_find(text, " in goroutine ") < text.size)
		text.size = slice_find(text, " in goroutine ");
	for (open = text.size; open && text.at[open - 1] != '('; open--)
		;
	if (open > 1 && slice_ends(text, ")"))
		text.size = open - 1;
	add_frame(t, text);
}

/* ---- all ---- */

static int parse_threads(struct input *in, struct folder *folder,
                         const struct format_options *options, struct format_report *report,
                         struct err *err, const char *unit,
                         void (*take)(struct threads *, struct slice))
{
	struct threads t = {.folder = folder, .options = options, .report = report, .err = err};
	struct slice line;
	int rc = 0;

	format_unit(report, "", unit);
	while (!t.is_too_large && (rc = input_line(in, &line, err)) > 0)
		take(&t, line);
	end_thread(&t);
	callers_release(&t.callers);
	callers_release(&t.outer);
	buf_release(&t.name);
	return t.is_too_large ? -1 : rc;
}

#define THREADS(id, title, unit, text)                                                             \
	static int parse_##id(struct input *in, struct folder *folder,                             \
	                      const struct format_options *options,                                \
	                      struct folded_header *header UNUSED, struct format_report *report,   \
	                      struct err *err)                                                     \
	{                                                                                          \
		return parse_threads(in, folder, options, report, err, unit, line_##id);           \
	}                                                                                          \
	const struct format format_##id = {                                                        \
	        .name = title, .about = text, .detect = detect_##id, .parse = parse_##id}

THREADS(gdb, "gdb", "threads", "gdb `thread apply all bt`, pstack: a sample a thread");
THREADS(eu_stack, "eu-stack", "threads", "eu-stack: a sample a thread");
THREADS(jstack, "jstack", "threads",
        "Java thread dumps: jstack, JRockit; values: RUNNABLE, WAITING, ...");
THREADS(javacore, "javacore", "threads",
        "Java dumps of IBM's JVM and OpenJ9; values: states as R, CW, P, B");
THREADS(exceptions, "exceptions", "exceptions", "Java exceptions in logs: a sample an exception");
THREADS(faulthandler, "faulthandler", "threads", "Python faulthandler dumps: a sample a thread");
THREADS(goroutines, "goroutines", "goroutines", "Go goroutine dumps: a sample a goroutine");
