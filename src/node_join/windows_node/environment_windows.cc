#include <windows.h>

#include <memory>

#include "base/wide_windows.h"
#include "node_join/windows_node/environment.h"

namespace porthole::node_join {
namespace {

constexpr const wchar_t* MachineKey = L"System\\CurrentControlSet\\Control\\Session Manager\\Environment";
constexpr const wchar_t* UserKey = L"Environment";

struct CloseKey {
    void operator()(HKEY key) const { RegCloseKey(key); }
};
using Key = std::unique_ptr<std::remove_pointer_t<HKEY>, CloseKey>;

Result<Key> open_environment(HKEY root, const wchar_t* path) {
    HKEY key = nullptr;
    const LSTATUS status = RegCreateKeyExW(root, path, 0, nullptr, 0, KEY_QUERY_VALUE | KEY_SET_VALUE, nullptr, &key, nullptr);
    if (status != ERROR_SUCCESS) return windows_error("opening the environment in the registry", static_cast<unsigned long>(status));
    return Key(key);
}

Result<void> write(const Key& key, const std::wstring& name, DWORD type, const std::wstring& value) {
    const DWORD size = static_cast<DWORD>((value.size() + 1) * sizeof(wchar_t));
    const LSTATUS status = RegSetValueExW(key.get(), name.c_str(), 0, type, reinterpret_cast<const BYTE*>(value.c_str()), size);
    if (status != ERROR_SUCCESS) return windows_error("writing " + to_utf8(name) + " to the registry", static_cast<unsigned long>(status));
    return {};
}

}  // namespace

Result<bool> add_to_machine_path(const std::string& folder) {
    TRY(const Key key, open_environment(HKEY_LOCAL_MACHINE, MachineKey));
    DWORD type = REG_EXPAND_SZ, size = 0;
    LSTATUS status = RegQueryValueExW(key.get(), L"Path", nullptr, &type, nullptr, &size);
    std::wstring value(size / sizeof(wchar_t), L'\0');
    if (status == ERROR_SUCCESS)
        status = RegQueryValueExW(key.get(), L"Path", nullptr, &type, reinterpret_cast<BYTE*>(value.data()), &size);
    if (status != ERROR_SUCCESS && status != ERROR_FILE_NOT_FOUND)
        return windows_error("reading PATH from the registry", static_cast<unsigned long>(status));
    while (!value.empty() && value.back() == L'\0') value.pop_back();
    const std::string before = to_utf8(value), after = path_with(before, folder);
    if (after == before) return false;
    TRY_VOID(write(key, L"Path", type, to_wide(after)));
    return true;
}

Result<void> set_user_variable(const std::string& name, const std::string& value) {
    TRY(const Key key, open_environment(HKEY_CURRENT_USER, UserKey));
    return write(key, to_wide(name), REG_SZ, to_wide(value));
}

}  // namespace porthole::node_join
