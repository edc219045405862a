/*
 * fuzz_cfi.c - any call frame information over any stack.
 *
 * Input: struct head, then cfi_size bytes of call frame information, then the
 * stack copy. They are put into an ELF image whose addresses are its offsets
 * and which is mapped at 0, so that small numbers on the stack are code.
 */
#include "share/compat.h"

#include "collapse/unwind/cfi.h"
#include "collapse/unwind/unwind.h"
#include "share/mem.h"

#include <elf.h>
#include <linux/perf_event.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct head {
	uint8_t form; /* bits 0-1: enum form; 2: aarch64; 3: strict; 4: JIT maps; 5: i386 */
	uint8_t regs[15];
	uint32_t vaddr, pc; /* of the information; of the sample */
	uint16_t cfi_size;
};

enum form { FORM_HDR, FORM_EH_FRAME, FORM_DEBUG_FRAME, FORM_NONE };

enum { IMAGE_SIZE = 1 << 17, HEADERS_SIZE = 512, CODE_SIZE = IMAGE_SIZE - HEADERS_SIZE };

#define STACK_START ((uint64_t)0x7fff0000)

static const char names[] = "\0.shstrtab\0.eh_frame\0.debug_frame";

static uint16_t machine_of(const struct head *head)
{
	return head->form & 4 ? EM_AARCH64 : head->form & 32 ? EM_386 : EM_X86_64;
}

/* The headers of image_of() as 32-bit files have them. */
static void put_headers_32(uint8_t *image, const Elf64_Ehdr *ehdr, const Elf64_Phdr *phdr,
                           const Elf64_Shdr *shdr)
{
	Elf32_Ehdr e = {
	        .e_type = ehdr->e_type,
	        .e_machine = ehdr->e_machine,
	        .e_version = ehdr->e_version,
	        .e_phoff = sizeof(e),
	        .e_shoff = sizeof(e) + 2 * sizeof(Elf32_Phdr),
	        .e_ehsize = sizeof(e),
	        .e_phentsize = sizeof(Elf32_Phdr),
	        .e_phnum = ehdr->e_phnum,
	        .e_shentsize = sizeof(Elf32_Shdr),
	        .e_shnum = ehdr->e_shnum,
	        .e_shstrndx = ehdr->e_shstrndx,
	};

	memcpy(e.e_ident, ehdr->e_ident, sizeof(e.e_ident));
	e.e_ident[EI_CLASS] = ELFCLASS32;
	memcpy(image, &e, sizeof(e));
	for (size_t i = 0; i < 2; i++) {
		Elf32_Phdr p = {.p_type = phdr[i].p_type,
		                .p_flags = phdr[i].p_flags,
		                .p_offset = (uint32_t)phdr[i].p_offset,
		                .p_vaddr = (uint32_t)phdr[i].p_vaddr,
		                .p_filesz = (uint32_t)phdr[i].p_filesz};

		memcpy(image + e.e_phoff + i * sizeof(p), &p, sizeof(p));
	}
	for (size_t i = 0; i < 3; i++) {
		Elf32_Shdr s = {.sh_name = shdr[i].sh_name,
		                .sh_type = shdr[i].sh_type,
		                .sh_addr = (uint32_t)shdr[i].sh_addr,
		                .sh_offset = (uint32_t)shdr[i].sh_offset,
		                .sh_size = (uint32_t)shdr[i].sh_size};

		memcpy(image + e.e_shoff + i * sizeof(s), &s, sizeof(s));
	}
}

/* One executable segment, and the information as a segment or as a section. */
static uint8_t *image_of(const struct head *head, const uint8_t *cfi)
{
	uint8_t *image = mem_zalloc(IMAGE_SIZE);
	uint32_t at = HEADERS_SIZE + head->vaddr % (CODE_SIZE - head->cfi_size);
	enum form form = head->form & 3;
	Elf64_Ehdr ehdr = {
	        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	        .e_type = ET_DYN,
	        .e_machine = machine_of(head),
	        .e_version = EV_CURRENT,
	        .e_phoff = sizeof(ehdr),
	        .e_shoff = sizeof(ehdr) + 2 * sizeof(Elf64_Phdr),
	        .e_ehsize = sizeof(ehdr),
	        .e_phentsize = sizeof(Elf64_Phdr),
	        .e_phnum = form == FORM_HDR ? 2 : 1,
	        .e_shentsize = sizeof(Elf64_Shdr),
	        .e_shnum = form == FORM_NONE ? 2 : 3,
	        .e_shstrndx = 1,
	};
	Elf64_Phdr phdr[2] = {
	        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = IMAGE_SIZE},
	        {.p_type = PT_GNU_EH_FRAME,
	         .p_offset = at,
	         .p_vaddr = at,
	         .p_filesz = head->cfi_size},
	};
	Elf64_Shdr shdr[3] = {
	        {0},
	        {.sh_name = 1,
	         .sh_type = SHT_STRTAB,
	         .sh_offset = HEADERS_SIZE - sizeof(names),
	         .sh_size = sizeof(names)},
	        {.sh_name = form == FORM_DEBUG_FRAME ? 21 : 11,
	         .sh_type = SHT_PROGBITS,
	         .sh_addr = at,
	         .sh_offset = at,
	         .sh_size = head->cfi_size},
	};

	_Static_assert(sizeof(ehdr) + sizeof(phdr) + sizeof(shdr) + sizeof(names) <= HEADERS_SIZE,
	               "headers overlap");
	if (machine_of(head) == EM_386) {
		put_headers_32(image, &ehdr, phdr, shdr);
	} else {
		memcpy(image, &ehdr, sizeof(ehdr));
		memcpy(image + sizeof(ehdr), phdr, sizeof(phdr));
		memcpy(image + sizeof(ehdr) + sizeof(phdr), shdr, sizeof(shdr));
	}
	memcpy(image + HEADERS_SIZE - sizeof(names), names, sizeof(names));
	memcpy(image + at, cfi, head->cfi_size);
	return image;
}

static bool find(void *ctx, uint64_t ip, struct unwind_map *map)
{
	if (ip >= IMAGE_SIZE)
		return false;
	*map = (struct unwind_map){0, IMAGE_SIZE, 0, ctx, true};
	return true;
}

static void walk(const struct head *head, struct modules *modules, struct module *module,
                 const uint8_t *stack, size_t stack_size)
{
	static struct unwind_frame frames[UNWIND_DEPTH_MAX];
	struct unwind_options options = {.strict = (head->form & 8) != 0};
	bool is_x86 = !(head->form & 4), is_i386 = machine_of(head) == EM_386;
	uint64_t regs[33] = {0};
	struct unwind_sample sample = {
	        .machine = machine_of(head),
	        .regs_abi = is_i386 ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64,
	        .regs_mask = is_i386 ? 0xfff :
	                     is_x86  ? 0xff0fff :
	                               0x1ffffffff,
	        .regs = regs,
	        .stack = stack,
	        .stack_size = stack_size,
	        .stack_request = stack_size,
	        .find = find,
	        .ctx = module,
	};
	struct unwind_rules *rules = unwind_rules_new(modules, &options);
	struct unwinder *unwinder = unwinder_new(rules);
	struct unwind_result result;
	size_t nr;

	for (size_t i = 0; i < ARRAY_SIZE(regs); i++)
		regs[i] = STACK_START + (uint64_t)(int64_t)(int8_t)head->regs[i % 15] * 4;
	/* perf's numbers of sp and pc */
	regs[is_x86 ? 7 : 31] = STACK_START;
	regs[is_x86 ? 8 : 32] = head->pc % IMAGE_SIZE;
	nr = unwind(unwinder, &sample, frames, UNWIND_DEPTH_MAX, &result);
	if (nr == 0 || nr > UNWIND_DEPTH_MAX || result.end >= UNWIND_NR_ENDS ||
	    (result.end == UNWIND_TOO_DEEP) !=
	            (nr == UNWIND_DEPTH_MAX && result.end == UNWIND_TOO_DEEP))
		abort();
	for (size_t i = 0; i < nr; i++)
		if (frames[i].module && frames[i].off != frames[i].ip)
			abort();
	unwinder_free(unwinder);
	unwind_rules_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct modules *modules;
	struct module *module;
	struct head head;
	struct elffile *file;
	struct err err;
	uint8_t *stack;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	size -= sizeof(head);
	head.cfi_size = (uint16_t)MIN_OF(head.cfi_size, size);
	file = elffile_of_memory("fuzz", image_of(&head, data), IMAGE_SIZE, &err);
	if (!file)
		abort();
	modules = modules_new(&(struct module_options){0});
	module = modules_intern(
	        modules, &(struct module_key){.kind = head.form & 16 ? MODULE_JIT : MODULE_FILE,
	                                      .path = "fuzz",
	                                      .pid = -1});
	module->cfi_tried = true;
	module->cfi = cfi_new(file);
	/* a block of just this size lets sanitizers see any overrun */
	stack = mem_alloc(size - head.cfi_size + 1);
	memcpy(stack, data + head.cfi_size, size - head.cfi_size);
	walk(&head, modules, module, stack, size - head.cfi_size);
	free(stack);
	elffile_close(file);
	modules_free(modules);
	return 0;
}
