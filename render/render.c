#include "share/compat.h"

#include "share/msg.h"
#include "share/opts.h"

int main(int argc, char **argv)
{
	struct opts opts = {.usage = "", .about = "", .argc = argc, .argv = argv};
	const char *arg;
	struct err err;

	msg_init("render");
	while (opts_next(&opts, &arg, &err) > OPTS_END)
		;
	return EXIT_COMPLETE;
}
