#pragma once
#include <windows.h>

#include <psapi.h>

#include <algorithm>
#include <vector>

#include "winhost/tools/mapped_file_windows.h"
#include "winhost/tools/pe_imports.h"

namespace porthole::winhost {

/// Where a process of 32 bits has loaded its own kernelbase.dll; 0 if it has not, or is none.
inline ULONG_PTR kernelbase_of_32_bits(HANDLE process) {
    std::vector<HMODULE> modules(512);
    DWORD size = 0;
    const auto room = static_cast<DWORD>(modules.size() * sizeof(HMODULE));
    if (!K32EnumProcessModulesEx(process, modules.data(), room, &size, LIST_MODULES_32BIT)) return 0;
    modules.resize(std::min<std::size_t>(modules.size(), size / sizeof(HMODULE)));
    for (const HMODULE module : modules) {
        wchar_t name[MAX_PATH] = L"";
        if (K32GetModuleBaseNameW(process, module, name, MAX_PATH) && lstrcmpiW(name, L"kernelbase.dll") == 0)
            return reinterpret_cast<ULONG_PTR>(module);
    }
    return 0;
}

/// Of a process of 32 bits. Ours is of 64 bits.
inline LPTHREAD_START_ROUTINE control_routine_of_32_bits(HANDLE process) {
    const MappedFile file(L"C:\\windows\\syswow64\\kernelbase.dll");
    const auto address = PeImage(file.bytes()).export_address("CtrlRoutine");
    const ULONG_PTR base = address ? kernelbase_of_32_bits(process) : 0;
    return base ? reinterpret_cast<LPTHREAD_START_ROUTINE>(base + *address) : nullptr;
}

/// Where a process has the function with which a thread begins that handles a console event; null if that is not known.
inline LPTHREAD_START_ROUTINE control_routine_of(HANDLE process) {
    BOOL has_32_bits = FALSE;
    if (IsWow64Process(process, &has_32_bits) && has_32_bits) return control_routine_of_32_bits(process);
    return reinterpret_cast<LPTHREAD_START_ROUTINE>(
        reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine")));
}

}  // namespace porthole::winhost
