/*
 * truth_aarch64.c - truth.c for aarch64 programs, on any machine: qemu runs
 * the program and answers a debugger's questions.
 *
 * usage: truth_aarch64 SOCKET PROGRAM MAIN
 * SOCKET is where `qemu-aarch64 -g SOCKET PROGRAM` listens; PROGRAM is static
 * and not position independent, so that its segments say what is mapped. Looks
 * from the address MAIN (hexadecimal) on; what is below is taken from the
 * unwinder once and must reach the bottom.
 *
 * A call is a step that jumps and leaves the address behind the instruction in
 * the link register. It has returned when that address is reached with the
 * stack pointer of the call, or when the stack pointer is above it.
 *
 * Protocol: GDB manual, appendix "GDB Remote Serial Protocol".
 */
#include "share/compat.h"

#include "collapse/names/elffile.h"
#include "collapse/unwind/unwind.h"
#include "share/mem.h"
#include "tests/unwind/wrong.h"

#include <elf.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define COPY_SIZE  ((size_t)4000)
#define CHUNK_SIZE ((size_t)2000) /* qemu's packets hold no more */
#define STEPS_MAX  200000

/* perf's numbers on aarch64: x0 to x29, lr, sp, pc */
enum { LR = 30, SP = 31, PC = 32, NR_REGS = 33 };

struct call {
	uint64_t sp, ip;
};

struct program {
	FILE *in;
	int out;
	struct elffile *file;
	struct module *module;
	uint64_t stack_end;
	struct call calls[1000];
	size_t nr_calls;
};

/* Sends a packet and reads the answer's body. */
static void ask(struct program *program, const char *question, char *answer, size_t size)
{
	unsigned sum = 0;
	char packet[128];
	size_t at = 0;
	int c, length;

	for (const char *p = question; *p; p++)
		sum += (unsigned char)*p;
	length = snprintf(packet, sizeof(packet), "+$%s#%02x", question, sum & 0xff);
	if (write(program->out, packet, (size_t)length) != length)
		exit(EXIT_FAILED);
	while ((c = getc(program->in)) != '$')
		if (c == EOF)
			exit(EXIT_FAILED);
	while ((c = getc(program->in)) != '#' && c != EOF)
		if (at + 1 < size)
			answer[at++] = (char)c;
	answer[at] = '\0';
	getc(program->in);
	getc(program->in);
}

static size_t unhex(const char *text, uint8_t *to, size_t max)
{
	size_t nr = 0;
	unsigned byte;

	for (; nr < max && sscanf(text, "%2x", &byte) == 1; text += 2)
		to[nr++] = (uint8_t)byte;
	return nr;
}

static void read_regs(struct program *program, uint64_t regs[NR_REGS])
{
	char answer[4096];

	ask(program, "g", answer, sizeof(answer));
	if (unhex(answer, (uint8_t *)regs, NR_REGS * 8) != NR_REGS * 8)
		exit(EXIT_FAILED);
}

static size_t read_stack(struct program *program, uint64_t sp, uint8_t *copy)
{
	static char answer[2 * CHUNK_SIZE + 1];
	size_t size = MIN_OF(COPY_SIZE, program->stack_end - sp), at = 0, got = 1;
	char question[64];

	for (; at < size && got; at += got) {
		snprintf(question, sizeof(question), "m%jx,%zx", (uintmax_t)(sp + at),
		         MIN_OF(CHUNK_SIZE, size - at));
		ask(program, question, answer, sizeof(answer));
		got = answer[0] == 'E' ? 0 : unhex(answer, copy + at, size - at);
	}
	return at;
}

static bool find(void *ctx, uint64_t ip, struct unwind_map *map)
{
	struct program *program = ctx;

	for (size_t i = 0; i < program->file->nr_segments; i++) {
		const struct elf_segment *segment = &program->file->segments[i];

		if (segment->type == PT_LOAD && (segment->flags & PF_X) &&
		    ip - segment->vaddr < segment->file_size) {
			*map = (struct unwind_map){segment->vaddr,
			                           segment->vaddr + segment->file_size,
			                           segment->off, program->module, true};
			return true;
		}
	}
	return false;
}

static void follow(struct program *program, uint64_t was_ip, const uint64_t is[NR_REGS])
{
	while (program->nr_calls) {
		const struct call *top = &program->calls[program->nr_calls - 1];

		if (is[SP] < top->sp || (is[SP] == top->sp && is[PC] != top->ip))
			break;
		program->nr_calls--;
	}
	if (is[LR] == was_ip + 4 && is[PC] != was_ip + 4 &&
	    program->nr_calls < ARRAY_SIZE(program->calls))
		program->calls[program->nr_calls++] = (struct call){is[SP], is[LR]};
}

static const char *look(struct program *program, struct unwinder *unwinder,
                        const uint64_t regs[NR_REGS])
{
	static uint8_t copy[COPY_SIZE];
	static struct unwind_frame frames[UNWIND_DEPTH_MAX];
	struct unwind_result result;
	enum unwind_end end;
	size_t nr, at = 1;
	struct unwind_sample sample = {
	        .machine = EM_AARCH64,
	        .regs_abi = 2,
	        .regs_mask = ((uint64_t)1 << NR_REGS) - 1,
	        .regs = regs,
	        .stack = copy,
	        .stack_size = read_stack(program, regs[SP], copy),
	        .stack_request = COPY_SIZE,
	        .find = find,
	        .ctx = program,
	};

	nr = unwind(unwinder, &sample, frames, UNWIND_DEPTH_MAX, &result);
	end = result.end;
	if (!program->nr_calls) {
		/* below main: newest last */
		for (size_t i = nr; end == UNWIND_BOTTOM && i-- > 1;)
			program->calls[program->nr_calls++] =
			        (struct call){i == 1 ? regs[SP] : UINT64_MAX, frames[i].ip};
		return end == UNWIND_BOTTOM ? NULL : unwind_end_text(end);
	}
	for (size_t i = program->nr_calls; i-- > 0; at++) {
		if (at >= nr)
			return end == UNWIND_CUT ? NULL : unwind_end_text(end);
		if (frames[at].ip != program->calls[i].ip || !frames[at].is_return)
			return "another frame";
	}
	if (at != nr)
		return "frames too many";
	return end == UNWIND_BOTTOM ? NULL : unwind_end_text(end);
}

static bool connect_to(struct program *program, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	/* qemu needs a moment to begin to listen */
	for (int tries = 0; tries < 100; tries++) {
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
			program->out = fd;
			program->in = fdopen(dup(fd), "rb");
			return program->in != NULL;
		}
		usleep(50000);
	}
	return false;
}

int main(int argc, char **argv)
{
	struct program program = {0};
	struct unwind_options options = {0};
	struct modules *modules = modules_new(&(struct module_options){0});
	struct unwind_rules *rules = unwind_rules_new(modules, &options);
	struct unwinder *unwinder = unwinder_new(rules);
	uint64_t regs[NR_REGS], was_ip;
	char answer[256], question[64];
	size_t nr_steps = 0;
	struct err err;

	if (argc != 4 || !(program.file = elffile_open(argv[2], &err)) ||
	    !connect_to(&program, argv[1]))
		return EXIT_FAILED;
	program.module = modules_intern(
	        modules, &(struct module_key){.kind = MODULE_FILE, .path = argv[2], .pid = -1});
	snprintf(question, sizeof(question), "Z0,%s,4", argv[3]);
	ask(&program, question, answer, sizeof(answer));
	ask(&program, "c", answer, sizeof(answer));
	question[0] = 'z';
	ask(&program, question, answer, sizeof(answer));
	read_regs(&program, regs);
	/* arguments and environment lie above main's frames */
	program.stack_end = regs[SP] + 1024;
	look(&program, unwinder, regs);
	for (; nr_steps < STEPS_MAX; nr_steps++) {
		const char *why;

		was_ip = regs[PC];
		ask(&program, "s", answer, sizeof(answer));
		if (answer[0] == 'W')
			break;
		read_regs(&program, regs);
		follow(&program, was_ip, regs);
		why = look(&program, unwinder, regs);
		if (why)
			wrong_note(argv[2], regs[PC], why);
	}
	unwinder_free(unwinder);
	unwind_rules_free(rules);
	modules_free(modules);
	elffile_close(program.file);
	return wrong_report(nr_steps);
}
