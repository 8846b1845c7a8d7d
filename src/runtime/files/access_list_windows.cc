#include <windows.h>

#include <aclapi.h>
#include <sddl.h>
#undef interface  // a word that sources compiled together with this one use

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/wide_windows.h"
#include "runtime/files/file_owners_windows.h"
#include "runtime/files/file_system_windows.h"
#include "runtime/handle_windows.h"

namespace porthole::windows_files {
namespace {

/// "S-1-5-18"
std::wstring text_of(PSID sid) {
    wchar_t* text = nullptr;
    if (!ConvertSidToStringSidW(sid, &text)) return L"";
    std::wstring copy(text);
    LocalFree(text);
    return copy;
}

/// Of the user that this process runs as.
std::wstring own_sid() {
    HANDLE token = nullptr;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) return L"";
    const Handle owned(token);
    alignas(TOKEN_USER) char buffer[256];
    DWORD size = 0;
    if (!GetTokenInformation(token, TokenUser, buffer, sizeof buffer, &size)) return L"";
    return text_of(reinterpret_cast<TOKEN_USER*>(buffer)->User.Sid);
}

struct LocalDeleter {
    void operator()(void* memory) const { LocalFree(memory); }
};
using LocalMemory = std::unique_ptr<void, LocalDeleter>;

/// Nothing is inherited from above; what is made below inherits it. The system and administrators may do everything.
constexpr const wchar_t* AdministratorsOnly = L"D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";

std::wstring private_rules() {
    static const std::wstring sid = own_sid();
    return sid.empty() ? AdministratorsOnly : AdministratorsOnly + (L"(A;OICI;FA;;;" + sid + L")");
}

/// Null for rules that cannot be read.
LocalMemory descriptor_of(const std::wstring& rules) {
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    ConvertStringSecurityDescriptorToSecurityDescriptorW(rules.c_str(), SDDL_REVISION_1, &descriptor, nullptr);
    return LocalMemory(descriptor);
}

/// Of the file alone: what is below keeps its list. SetNamedSecurityInfo, which would see to that, is not used, as Wine's adds the rules of
/// the directory above whatever it is told.
Result<void> set_access_list(const std::string& path, PSECURITY_DESCRIPTOR descriptor, SECURITY_INFORMATION more = 0) {
    if (!SetFileSecurityW(native_path(path).c_str(), DACL_SECURITY_INFORMATION | more, descriptor)) return file_error("protect", path);
    return {};
}

Result<void> set_rules(const std::string& path, const std::wstring& rules) {
    const LocalMemory descriptor = descriptor_of(rules);
    if (!descriptor) return file_error("protect", path);
    return set_access_list(path, descriptor.get(), PROTECTED_DACL_SECURITY_INFORMATION);
}

/// The access list of a file; `list` points into `memory`.
struct AccessList {
    LocalMemory memory;
    PACL list = nullptr;
    bool is_protected = false;  ///< nothing of it comes from above
};

Result<AccessList> access_list(const std::string& path) {
    const std::wstring native = native_path(path);
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    AccessList found;
    const DWORD code = GetNamedSecurityInfoW(native.c_str(), SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, nullptr, nullptr, &found.list,
                                             nullptr, &descriptor);
    if (code != ERROR_SUCCESS) return file_error("read the access list of", path, code);
    found.memory.reset(descriptor);
    SECURITY_DESCRIPTOR_CONTROL control = 0;
    DWORD revision = 0;
    found.is_protected = GetSecurityDescriptorControl(descriptor, &control, &revision) && control & SE_DACL_PROTECTED;
    return found;
}

/// Of a file, a directory, or a link itself.
Result<std::wstring> owner_of(const std::string& path) {
    constexpr DWORD ShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    const Handle file(CreateFileW(native_path(path).c_str(), READ_CONTROL, ShareAll, nullptr, OPEN_EXISTING,
                                  FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
    if (!file) return file_error("look at", path);
    PSID owner = nullptr;
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    const DWORD code =
        GetSecurityInfo(file.get(), SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION, &owner, nullptr, nullptr, nullptr, &descriptor);
    if (code != ERROR_SUCCESS) return file_error("read the owner of", path, code);
    const LocalMemory owned(descriptor);
    return text_of(owner);
}

Result<bool> is_trusted(const std::string& path) {
    constexpr const wchar_t* Trusted[] = {L"S-1-5-18", L"S-1-5-32-544",
                                          L"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"};  // TrustedInstaller
    TRY(const std::wstring owner, owner_of(path));
    return owner == own_sid() || std::ranges::find(Trusted, owner) != std::end(Trusted);
}

}  // namespace

SECURITY_ATTRIBUTES* private_attributes() {
    static const LocalMemory descriptor = descriptor_of(private_rules());
    static SECURITY_ATTRIBUTES attributes{sizeof(SECURITY_ATTRIBUTES), descriptor.get(), FALSE};
    return &attributes;
}

Result<void> keep_private(const std::string& path) { return set_rules(path, private_rules()); }

Result<bool> is_restricted(const std::string& path) {
    TRY(const AccessList now, access_list(path));
    return now.is_protected;
}

Result<void> restrict_to_administrators(const std::string& path, const std::vector<std::vector<std::byte>>& readers) {
    std::wstring rules = AdministratorsOnly;
    for (const std::vector<std::byte>& sid : readers) rules += L"(A;OICI;FRFX;;;" + text_of(const_cast<std::byte*>(sid.data())) + L")";
    return set_rules(path, rules);
}

Result<std::vector<std::byte>> sid_of(const std::string& account) {
    const std::wstring name = to_wide(account);
    if (account.starts_with("S-1-")) {
        PSID parsed = nullptr;
        if (!ConvertStringSidToSidW(name.c_str(), &parsed)) return windows_error("invalid SID " + account, GetLastError());
        const LocalMemory owned(parsed);
        const auto* bytes = static_cast<const std::byte*>(parsed);
        return std::vector<std::byte>(bytes, bytes + GetLengthSid(parsed));
    }
    std::vector<std::byte> sid(SECURITY_MAX_SID_SIZE);
    DWORD size = static_cast<DWORD>(sid.size()), domain_size = 256;
    wchar_t domain[256];
    SID_NAME_USE use{};
    if (!LookupAccountNameW(nullptr, name.c_str(), sid.data(), &size, domain, &domain_size, &use))
        return Error(Reason::NotFound, "this machine has no account \"" + account + "\"");
    sid.resize(size);
    return sid;
}

Result<void> let_read(const std::string& path, const std::vector<std::byte>& sid) {
    TRY(const AccessList before, access_list(path));
    EXPLICIT_ACCESSW added{};
    added.grfAccessPermissions = FILE_GENERIC_READ | FILE_GENERIC_EXECUTE;
    added.grfAccessMode = GRANT_ACCESS;
    added.grfInheritance = SUB_CONTAINERS_AND_OBJECTS_INHERIT;
    added.Trustee.TrusteeForm = TRUSTEE_IS_SID;
    added.Trustee.ptstrName = reinterpret_cast<wchar_t*>(const_cast<std::byte*>(sid.data()));
    PACL merged = nullptr;
    if (const DWORD code = SetEntriesInAclW(1, &added, before.list, &merged); code != ERROR_SUCCESS)
        return file_error("protect", path, code);
    const LocalMemory owned(merged);
    SECURITY_DESCRIPTOR descriptor;
    InitializeSecurityDescriptor(&descriptor, SECURITY_DESCRIPTOR_REVISION);
    SetSecurityDescriptorDacl(&descriptor, TRUE, merged, FALSE);
    return set_access_list(path, &descriptor, before.is_protected ? PROTECTED_DACL_SECURITY_INFORMATION : 0);
}

}  // namespace porthole::windows_files

namespace porthole {

Result<std::string> find_of_others(FileSystem& files, const std::string& directory) {
    if (is_not_found(files.link_status(directory))) return std::string();
    for (std::vector<std::string> open{directory}; !open.empty();) {
        const std::string path = std::move(open.back());
        open.pop_back();
        TRY(const bool trusted, windows_files::is_trusted(path));
        if (!trusted) return path;
        TRY(const FileStatus there, files.link_status(path));
        if (!there.is_directory()) continue;
        TRY(const auto names, files.list(path));
        for (const std::string& name : names) open.push_back(join_path(path, name));
    }
    return std::string();
}

}  // namespace porthole
