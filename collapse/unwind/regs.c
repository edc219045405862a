#include "share/compat.h"
#include "collapse/unwind/regs.h"

#include <elf.h>
#include <linux/perf_event.h>

const struct regs_machine *regs_machine_of(uint16_t elf_machine, uint64_t abi)
{
	static const struct regs_machine *const all[] = {&regs_x86_64, &regs_i386, &regs_aarch64};

	if (elf_machine == EM_X86_64 && abi == PERF_SAMPLE_REGS_ABI_32)
		elf_machine = EM_386;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i]->elf_machine == elf_machine &&
		    abi == (all[i]->word == 4 ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64))
			return all[i];
	return NULL;
}

bool regs_load(const struct regs_machine *machine, struct regs *regs, uint64_t mask,
               const uint64_t *values, uint64_t *pc)
{
	const uint8_t *at = (const uint8_t *)values;
	bool has_pc = false;

	regs->known = 0;
	for (; mask; mask &= mask - 1, at += sizeof(uint64_t)) {
		unsigned nr = (unsigned)__builtin_ctzll(mask);
		uint64_t value;

		if (nr >= machine->nr_perf)
			break;
		memcpy(&value, at, sizeof(value));
		if (nr == machine->perf_pc) {
			*pc = value;
			has_pc = true;
		} else if (machine->perf_to_dwarf[nr] >= 0) {
			regs_set(regs, (unsigned)machine->perf_to_dwarf[nr], value);
		}
	}
	return has_pc && regs_know(regs, machine->sp);
}
