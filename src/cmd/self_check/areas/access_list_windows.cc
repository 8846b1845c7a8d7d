#include "cmd/self_check/areas/access_list_windows.h"

#include <windows.h>

#include <aclapi.h>
#include <sddl.h>

#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

#include "base/wide_windows.h"
#include "runtime/handle_windows.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

std::string text_of(PSID sid) {
    wchar_t* text = nullptr;
    if (!ConvertSidToStringSidW(sid, &text)) return "";
    std::string copy = to_utf8(text);
    LocalFree(text);
    return copy;
}

/// "S-1-5-32-545" is the group of all users; the others are everyone, in one way or another.
bool has_many_members(const std::string& sid) {
    constexpr std::array Many = {"S-1-1-0", "S-1-5-2", "S-1-5-4", "S-1-5-7", "S-1-5-11", "S-1-5-32-545", "S-1-5-32-546"};
    for (const char* one : Many)
        if (sid == one) return true;
    return false;
}

std::string name_of(const std::string& sid) {
    if (sid == "S-1-5-18") return "system";
    if (sid == "S-1-5-32-544") return "administrators";
    return sid == own_sid() || sid == "S-1-3-4" ? "owner" : sid;
}

std::string words_of(ACCESS_MASK mask, ACCESS_MASK all) {
    constexpr ACCESS_MASK Read = FILE_GENERIC_READ | FILE_GENERIC_EXECUTE;
    if ((mask & all) == all || mask & GENERIC_ALL) return "all";
    if (mask == Read) return "read";
    char text[16];
    std::snprintf(text, sizeof text, "0x%lx", mask);
    return text;
}

Value rights_in(PACL list, PSECURITY_DESCRIPTOR descriptor, ACCESS_MASK all) {
    std::map<std::string, ACCESS_MASK> masks;
    int others = 0;
    for (DWORD i = 0; list && i < list->AceCount; ++i) {
        ACCESS_ALLOWED_ACE* rule = nullptr;
        if (!GetAce(list, i, reinterpret_cast<void**>(&rule)) || rule->Header.AceType != ACCESS_ALLOWED_ACE_TYPE) continue;
        if (rule->Header.AceFlags & INHERIT_ONLY_ACE) continue;  // of what is made below
        const std::string sid = text_of(&rule->SidStart);
        if (has_many_members(sid))
            others += rule->Mask != 0;
        else
            masks[name_of(sid)] |= rule->Mask;
    }
    SECURITY_DESCRIPTOR_CONTROL control = 0;
    DWORD revision = 0;
    GetSecurityDescriptorControl(descriptor, &control, &revision);
    Value rights = Value::object({{"list", list != nullptr}, {"protected", (control & SE_DACL_PROTECTED) != 0}, {"others", others}});
    for (const auto& [name, mask] : masks) rights.as_object().append(name, words_of(mask, all));
    return rights;
}

}  // namespace

std::string own_sid() {
    HANDLE token = nullptr;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) return "";
    const Handle owned(token);
    alignas(TOKEN_USER) char buffer[256];
    DWORD size = 0;
    if (!GetTokenInformation(token, TokenUser, buffer, sizeof buffer, &size)) return "";
    return text_of(reinterpret_cast<TOKEN_USER*>(buffer)->User.Sid);
}

Result<Value> rights_of_file(const std::string& path) {
    PACL list = nullptr;
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    const DWORD code = GetNamedSecurityInfoW(to_wide(path).c_str(), SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, nullptr, nullptr, &list,
                                             nullptr, &descriptor);
    if (code != ERROR_SUCCESS) return windows_error("reading an access list", code);
    Value rights = rights_in(list, descriptor, FILE_ALL_ACCESS);
    LocalFree(descriptor);
    return rights;
}

Result<Value> rights_of(void* handle, SecuredObject kind) {
    const bool is_pipe = kind == SecuredObject::Pipe;
    PACL list = nullptr;
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    const DWORD code = GetSecurityInfo(handle, is_pipe ? SE_KERNEL_OBJECT : SE_REGISTRY_KEY, DACL_SECURITY_INFORMATION, nullptr, nullptr,
                                       &list, nullptr, &descriptor);
    if (code != ERROR_SUCCESS) return windows_error("reading an access list", code);
    Value rights = rights_in(list, descriptor, is_pipe ? FILE_ALL_ACCESS : KEY_ALL_ACCESS);
    LocalFree(descriptor);
    return rights;
}

}  // namespace porthole::cmd::self_check
