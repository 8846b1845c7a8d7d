#include <windows.h>

#include <ntsecapi.h>

#include "base/result.h"
#include "runtime/random.h"

namespace porthole {

void SystemRandom::fill() { CHECK(::RtlGenRandom(numbers_.data(), static_cast<ULONG>(sizeof numbers_))); }

}  // namespace porthole
