#pragma once
// What the resolver of a container is set to, which Wine has no call for: from the file that its resolver reads.
#include <windows.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace porthole::winhost {

/// The suffixes that are tried, in their order.
inline std::vector<std::string> search_list() {
    std::vector<std::string> suffixes;
    std::FILE* file = _wfopen(L"\\\\?\\unix\\etc\\resolv.conf", L"r");
    if (!file) return suffixes;
    for (char line[4096]; std::fgets(line, sizeof line, file);) {
        const std::string text = line;
        if (!text.starts_with("search ")) continue;
        suffixes.clear();  // the last one counts
        for (std::size_t begin = 7; (begin = text.find_first_not_of(" \t\r\n", begin)) != text.npos;) {
            const std::size_t end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
            suffixes.push_back(text.substr(begin, end - begin));
            begin = end;
        }
    }
    std::fclose(file);
    return suffixes;
}

/// Writes them to Windows' registry, for programs that read that instead of asking.
inline void note_search_list() {
    constexpr const wchar_t* Parameters = L"System\\CurrentControlSet\\Services\\Tcpip\\Parameters";
    std::wstring list;
    for (const std::string& suffix : search_list()) list += (list.empty() ? L"" : L",") + std::wstring(suffix.begin(), suffix.end());
    RegSetKeyValueW(HKEY_LOCAL_MACHINE, Parameters, L"SearchList", REG_SZ, list.c_str(), DWORD((list.size() + 1) * sizeof(wchar_t)));
    HKEY interfaces;  // no interface has its own list
    const std::wstring path = std::wstring(Parameters) + L"\\Interfaces";
    if (RegCreateKeyW(HKEY_LOCAL_MACHINE, path.c_str(), &interfaces) == ERROR_SUCCESS) RegCloseKey(interfaces);
}

}  // namespace porthole::winhost
