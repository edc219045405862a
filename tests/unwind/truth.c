/*
 * truth.c - runs a program instruction by instruction, keeps its call stack by
 * watching calls and returns, and compares what the unwinder says after each.
 *
 * usage: truth [--strict] PROGRAM [ARG]...
 * Prints the number of stacks that were looked at and of those that were
 * wrong, with the places; exits 1 where more than one in a thousand is wrong.
 *
 * The truth needs no cooperation of the program and no information from its
 * file: a call is a step that lowers the stack pointer by one word and leaves
 * there the address behind the instruction; a return address is dead once the
 * stack pointer is above it. x86-64 Linux.
 */
#include "share/compat.h"

#include "collapse/unwind/unwind.h"
#include "share/mem.h"
#include "tests/unwind/wrong.h"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define COPY_SIZE ((size_t)65528)
#define STEPS_MAX 2000000

/* perf's register numbers; attr.sample_regs_user of perf record */
#define REGS_MASK 0xff0fff
enum { NR_REGS = 20 };

struct call {
	uint64_t slot, ip; /* where the return address is; itself, or an interrupted ip */
	bool is_return;
};

struct program {
	pid_t pid;
	struct unwind_map maps[256];
	size_t nr_maps;
	uint64_t stack_start, stack_end; /* of the main stack */
	struct call calls[4096];
	size_t nr_calls;
	struct modules *modules;
};

static struct module *module_of(struct program *program, const char *path)
{
	bool is_vdso = strcmp(path, "[vdso]") == 0;
	struct module_key key = {
	        .kind = is_vdso ? MODULE_VDSO : MODULE_FILE, .path = path, .pid = program->pid};

	return modules_intern(program->modules, &key);
}

static void read_maps(struct program *program)
{
	char *path = mem_printf("/proc/%d/maps", program->pid), line[4096], name[4096], perms[8];
	FILE *file = fopen(path, "r");
	unsigned long start, end, pgoff;

	program->nr_maps = 0;
	while (file && fgets(line, sizeof(line), file) && program->nr_maps < 256) {
		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4000s", &start, &end, perms, &pgoff,
		           name) < 4)
			continue;
		if (strcmp(name, "[stack]") == 0) {
			program->stack_start = end - (8 << 20);
			program->stack_end = end;
		}
		if (perms[2] != 'x' || !name[0])
			continue;
		program->maps[program->nr_maps++] =
		        (struct unwind_map){start, end, strcmp(name, "[vdso]") == 0 ? 0 : pgoff,
		                            module_of(program, name), true};
	}
	if (file)
		fclose(file);
	free(path);
}

static bool find(void *ctx, uint64_t ip, struct unwind_map *map)
{
	struct program *program = ctx;

	for (size_t i = 0; i < program->nr_maps; i++) {
		if (ip >= program->maps[i].start && ip < program->maps[i].end) {
			*map = program->maps[i];
			return true;
		}
	}
	return false;
}

static size_t read_memory(const struct program *program, uint64_t at, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)at, size};
	ssize_t got = process_vm_readv(program->pid, &local, 1, &remote, 1, 0);

	return got < 0 ? 0 : (size_t)got;
}

static uint64_t word_at(const struct program *program, uint64_t at)
{
	uint64_t word = 0;

	read_memory(program, at, &word, sizeof(word));
	return word;
}

static void note(struct program *program, uint64_t ip, const char *why)
{
	struct unwind_map map = {0};

	if (find(program, ip, &map))
		wrong_note(map.module->key.path, ip - map.start + map.pgoff, why);
	else
		wrong_note("?", ip, why);
}

static bool on_main_stack(const struct program *program, uint64_t sp)
{
	return sp >= program->stack_start && sp < program->stack_end;
}

/* NULL where the frames are those that the program is in. */
static const char *compare(const struct program *program, uint64_t sp,
                           const struct unwind_frame *frames, size_t nr, enum unwind_end end)
{
	size_t at = 1;

	/* newest call last */
	for (size_t i = program->nr_calls; i-- > 0; at++) {
		const struct call *call = &program->calls[i];

		/* from another stack on, nothing of the copy helps */
		if (on_main_stack(program, call->slot) != on_main_stack(program, sp))
			break;
		if (at >= nr)
			return unwind_end_text(end);
		if (frames[at].ip != call->ip)
			return "another frame";
		if (frames[at].is_return != call->is_return)
			return "the frame's kind";
	}
	if (frames[0].is_return)
		return "the first frame's kind";
	if (on_main_stack(program, sp)) {
		if (at != nr)
			return "frames too many";
		return end == UNWIND_BOTTOM ? NULL : unwind_end_text(end);
	}
	/* a context that the program made itself has a first function below its own */
	if (nr > at + 1 || (nr == at + 1 && end != UNWIND_BOTTOM))
		return "frames too many on another stack";
	return NULL;
}

static const char *look(struct program *program, struct unwinder *unwinder,
                        const struct user_regs_struct *r)
{
	static uint8_t copy[65528];
	static struct unwind_frame frames[UNWIND_DEPTH_MAX];
	const uint64_t regs[NR_REGS] = {r->rax, r->rbx, r->rcx,    r->rdx, r->rsi, r->rdi, r->rbp,
	                                r->rsp, r->rip, r->eflags, r->cs,  r->ss,  r->r8,  r->r9,
	                                r->r10, r->r11, r->r12,    r->r13, r->r14, r->r15};
	size_t got, nr;
	struct unwind_result result;
	struct unwind_sample sample = {
	        .machine = EM_X86_64,
	        .regs_abi = 2,
	        .regs_mask = REGS_MASK,
	        .regs = regs,
	        .stack = copy,
	        .stack_request = COPY_SIZE,
	        .find = find,
	        .ctx = program,
	};

	got = read_memory(program, r->rsp, copy, COPY_SIZE);
	if (got == 0) /* a partial read ends where the stack does */
		got = read_memory(program, r->rsp, copy, program->stack_end - r->rsp);
	sample.stack_size = got;
	nr = unwind(unwinder, &sample, frames, UNWIND_DEPTH_MAX, &result);
	return compare(program, r->rsp, frames, nr, result.end);
}

/* What the step from `was` to `is` did to the calls. */
static void follow(struct program *program, const struct user_regs_struct *was,
                   const struct user_regs_struct *is, bool by_signal)
{
	while (program->nr_calls && program->calls[program->nr_calls - 1].slot < is->rsp)
		program->nr_calls--;
	if (program->nr_calls + 2 > ARRAY_SIZE(program->calls))
		return;
	if (by_signal) {
		/* the kernel's frame: return address, ucontext (its rip at 168), siginfo */
		program->calls[program->nr_calls++] =
		        (struct call){is->rsp + 8 + 168, was->rip, false};
		program->calls[program->nr_calls++] =
		        (struct call){is->rsp, word_at(program, is->rsp), false};
	} else if (is->rsp == was->rsp - 8) {
		uint64_t word = word_at(program, is->rsp);

		/* the longest instruction has 15 bytes; a push keeps to the next one */
		if (word > was->rip && word <= was->rip + 15 && is->rip != word)
			program->calls[program->nr_calls++] = (struct call){is->rsp, word, true};
	}
}

static uint64_t entry_of(pid_t pid)
{
	char *path = mem_printf("/proc/%d/auxv", pid);
	FILE *file = fopen(path, "r");
	Elf64_auxv_t aux;
	uint64_t entry = 0;

	while (file && fread(&aux, sizeof(aux), 1, file) == 1)
		if (aux.a_type == AT_ENTRY)
			entry = aux.a_un.a_val;
	if (file)
		fclose(file);
	free(path);
	return entry;
}

/* Lets the dynamic linker do its work; true at the program's first instruction. */
static bool run_to_entry(pid_t pid, struct user_regs_struct *regs)
{
	uint64_t entry = entry_of(pid);
	long code = ptrace(PTRACE_PEEKTEXT, pid, entry, 0);
	int status;

	ptrace(PTRACE_POKETEXT, pid, entry, (code & ~0xffL) | 0xcc);
	ptrace(PTRACE_CONT, pid, 0, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return false;
	ptrace(PTRACE_POKETEXT, pid, entry, code);
	ptrace(PTRACE_GETREGS, pid, 0, regs);
	regs->rip = entry;
	return ptrace(PTRACE_SETREGS, pid, 0, regs) == 0;
}

static bool is_syscall(const struct program *program, uint64_t ip)
{
	return (word_at(program, ip) & 0xffff) == 0x050f;
}

int main(int argc, char **argv)
{
	struct program program = {.modules = modules_new(&(struct module_options){0})};
	struct unwind_options options = {0};
	struct user_regs_struct was, is;
	struct unwind_rules *rules;
	struct unwinder *unwinder;
	size_t nr_steps = 0;
	int status, result, signal_number = 0;

	if (argc > 1 && strcmp(argv[1], "--strict") == 0) {
		options.strict = true;
		argv++;
	}
	program.pid = fork();
	if (program.pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	if (waitpid(program.pid, &status, 0) != program.pid || !WIFSTOPPED(status) ||
	    !run_to_entry(program.pid, &was))
		return EXIT_FAILED;
	ptrace(PTRACE_SETOPTIONS, program.pid, 0, PTRACE_O_EXITKILL);
	rules = unwind_rules_new(program.modules, &options);
	unwinder = unwinder_new(rules);
	read_maps(&program);
	while (nr_steps < STEPS_MAX) {
		const char *why;
		bool changes_maps = is_syscall(&program, was.rip), by_signal = signal_number != 0;

		if (ptrace(PTRACE_SINGLESTEP, program.pid, 0, signal_number) != 0 ||
		    waitpid(program.pid, &status, 0) != program.pid || !WIFSTOPPED(status))
			break;
		signal_number = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_GETREGS, program.pid, 0, &is);
		if (changes_maps)
			read_maps(&program);
		follow(&program, &was, &is, by_signal);
		was = is;
		nr_steps++;
		why = look(&program, unwinder, &is);
		if (why)
			note(&program, is.rip, why);
	}
	result = wrong_report(nr_steps);
	unwinder_free(unwinder);
	unwind_rules_free(rules);
	modules_free(program.modules);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? result : EXIT_FAILED;
}
