#pragma once
// Read before every C++ source of the Windows build. The C runtime's stdin, stdout and stderr are macros there, but they are
// also names of fields in Kubernetes' interfaces (ContainerConfig.stdin), which must be spelled the same everywhere.
#include <cstdio>

#undef stdin
#undef stdout
#undef stderr
inline FILE* const stdin = __acrt_iob_func(0);
inline FILE* const stdout = __acrt_iob_func(1);
inline FILE* const stderr = __acrt_iob_func(2);
