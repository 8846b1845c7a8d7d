// bcryptprimitives.dll, which Wine 8 has not: the one function of it that programs call themselves. Go's run time does so since 1.22, and
// ends at once where the file is missing.
#include <windows.h>

#include <algorithm>

extern "C" BOOLEAN WINAPI SystemFunction036(PVOID buffer, ULONG size);  // RtlGenRandom

/// Fills `data` with random bytes. It never fails on Windows.
extern "C" __declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
    while (size > 0) {
        const ULONG part = static_cast<ULONG>(std::min<SIZE_T>(size, 1u << 20));
        if (!SystemFunction036(data, part)) return FALSE;
        data += part;
        size -= part;
    }
    return TRUE;
}
