/* version.h - the version that --version prints and recordings carry. */
#ifndef SHARE_VERSION_H
#define SHARE_VERSION_H

#define FLAME_VERSION "0.1"

#endif
