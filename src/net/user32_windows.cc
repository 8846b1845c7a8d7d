// OpenSSL asks user32.dll, when a mistake in it is about to end the program, whether anybody sees its windows. Wine takes a third of a
// short program's start to set up user32.dll, so it is loaded at the first call: these are the pointers by which calls go to a DLL.
#include <windows.h>

namespace {

template <class Function>
Function* user32(const char* name) {
    static const HMODULE library = LoadLibraryExW(L"user32.dll", nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
    return reinterpret_cast<Function*>(reinterpret_cast<void*>(GetProcAddress(library, name)));
}

HWINSTA WINAPI get_process_window_station() { return user32<decltype(GetProcessWindowStation)>("GetProcessWindowStation")(); }

BOOL WINAPI get_user_object_information(HANDLE object, int index, void* buffer, DWORD size, DWORD* needed) {
    return user32<decltype(GetUserObjectInformationW)>("GetUserObjectInformationW")(object, index, buffer, size, needed);
}

int WINAPI message_box(HWND owner, const wchar_t* text, const wchar_t* title, UINT type) {
    return user32<decltype(MessageBoxW)>("MessageBoxW")(owner, text, title, type);
}

}  // namespace

extern "C" {
extern decltype(&GetProcessWindowStation) const __imp_GetProcessWindowStation = get_process_window_station;
extern decltype(&GetUserObjectInformationW) const __imp_GetUserObjectInformationW = get_user_object_information;
extern decltype(&MessageBoxW) const __imp_MessageBoxW = message_box;
}
