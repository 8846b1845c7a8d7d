// Stands where Wine has a program that only pretends to exist (powershell.exe and others): it would print nothing and succeed, and a
// probe or a script by it would falsely pass. This one says what is the matter and fails as the command interpreter does for a command
// that it does not know.
#include <windows.h>

#include <string>

int wmain() {
    wchar_t path[MAX_PATH]{};
    GetModuleFileNameW(nullptr, path, MAX_PATH);
    std::wstring name = path;
    name = name.substr(name.rfind(L'\\') + 1);
    std::string text;
    for (const wchar_t letter : name) text.push_back(static_cast<char>(letter));
    text += ": not available on an emulated Windows host (Wine has only an empty stand-in for it)\r\n";
    DWORD written = 0;
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), text.data(), static_cast<DWORD>(text.size()), &written, nullptr);
    return 9009;
}
