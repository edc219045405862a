#include "share/compat.h"
#include "collect/buildid.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#define MAX_NOTES 4096

size_t build_id_of_notes(const uint8_t *notes, size_t size, uint8_t *id)
{
	size_t at = 0;
	Elf64_Nhdr note; /* the same for both classes */

	while (size - at >= sizeof(note)) {
		size_t name, content, left;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		left = size - at;
		/* widened, so that sizes near 4 GiB do not wrap when rounded up */
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		content = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > left || note.n_descsz > left - name)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0 && note.n_descsz <= BUILD_ID_MAX) {
			memcpy(id, notes + at + name, note.n_descsz);
			return note.n_descsz;
		}
		if (content > left - name)
			return 0;
		at += name + content;
	}
	return 0;
}

size_t build_id_of_note_file(const char *path, uint8_t *id)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t notes[MAX_NOTES];
	ssize_t got;

	if (fd < 0)
		return 0;
	got = read(fd, notes, sizeof(notes));
	close(fd);
	return got > 0 ? build_id_of_notes(notes, (size_t)got, id) : 0;
}

/* Where segment i of the file lies, by either class; false for other types. */
static bool note_segment(const uint8_t *headers, bool is_64, size_t i, uint64_t *offset,
                         uint64_t *size)
{
	Elf64_Phdr wide;
	Elf32_Phdr narrow;

	if (is_64) {
		memcpy(&wide, headers + i * sizeof(wide), sizeof(wide));
		*offset = wide.p_offset;
		*size = wide.p_filesz;
		return wide.p_type == PT_NOTE;
	}
	memcpy(&narrow, headers + i * sizeof(narrow), sizeof(narrow));
	*offset = narrow.p_offset;
	*size = narrow.p_filesz;
	return narrow.p_type == PT_NOTE;
}

size_t build_id_of_file(int fd, uint8_t *id)
{
	/* program headers and the first notes follow the ELF header closely */
	uint8_t head[4096], notes[MAX_NOTES];
	ssize_t got = pread(fd, head, sizeof(head), 0);
	uint64_t table, offset, size;
	size_t nr, entry, found = 0;
	bool is_64;

	if (got < (ssize_t)sizeof(Elf64_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return 0;
	is_64 = head[EI_CLASS] == ELFCLASS64;
	if (is_64) {
		Elf64_Ehdr elf;

		memcpy(&elf, head, sizeof(elf));
		table = elf.e_phoff;
		nr = elf.e_phnum;
		entry = sizeof(Elf64_Phdr);
	} else {
		Elf32_Ehdr elf;

		memcpy(&elf, head, sizeof(elf));
		table = elf.e_phoff;
		nr = elf.e_phnum;
		entry = sizeof(Elf32_Phdr);
	}
	if (table >= (uint64_t)got)
		return 0;
	nr = MIN_OF(nr, ((size_t)got - table) / entry);
	for (size_t i = 0; i < nr && !found; i++) {
		if (!note_segment(head + table, is_64, i, &offset, &size))
			continue;
		size = MIN_OF(size, sizeof(notes));
		if (offset <= (uint64_t)got && size <= (uint64_t)got - offset) {
			found = build_id_of_notes(head + offset, size, id);
		} else {
			ssize_t more = pread(fd, notes, size, (off_t)offset);

			if (more > 0)
				found = build_id_of_notes(notes, (size_t)more, id);
		}
	}
	return found;
}
