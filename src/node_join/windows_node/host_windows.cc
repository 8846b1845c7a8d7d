#include "node_join/windows_node/host_windows.h"

#include <winsock2.h>
// winsock2.h comes before windows.h.
#include <windows.h>

#include <aclapi.h>
#include <sddl.h>

#include <algorithm>
#include <filesystem>

#include "base/strings.h"
#include "base/wide_windows.h"
#include "hns/dll/load_hns.h"
#include "kubelet/cri/cri_grpc.h"
#include "net/interface_address.h"
#include "node_join/windows_node/node_status.h"
#include "runtime/files/file_owners_windows.h"
#include "runtime/files/file_system.h"
#include "runtime/handle_windows.h"
#include "runtime/processes/windows_command_line.h"

namespace porthole::node_join {

using namespace winservice;
namespace {

namespace fs = std::filesystem;

constexpr std::uint16_t KubeletPort = 10250, ProxyHealthPort = 10256;
constexpr const char* HostPrograms[] = {"kubelet", "kube-proxy", "kubeadm", "flanneld", "csi-proxy"};
constexpr const char* CniPrograms[] = {"win-bridge", "win-overlay", "wincni", "flannel", "host-local"};

/// Makes the folder the administrators'. What it lets in, with all below that has no list of its own: the system and administrators for
/// everything, and what `others` says, in SDDL.
Result<void> protect(const std::string& path, const wchar_t* others) {
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    const std::wstring text = std::wstring(L"O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)") + others;
    if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(text.c_str(), SDDL_REVISION_1, &descriptor, nullptr))
        return windows_error("protecting " + path, GetLastError());
    PSID owner = nullptr;
    PACL list = nullptr;
    BOOL present = FALSE, defaulted = FALSE;
    GetSecurityDescriptorOwner(descriptor, &owner, &defaulted);
    GetSecurityDescriptorDacl(descriptor, &present, &list, &defaulted);
    std::wstring name = to_wide(path);
    const DWORD error = SetNamedSecurityInfoW(name.data(), SE_FILE_OBJECT,
                                              OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION,
                                              owner, nullptr, list, nullptr);
    LocalFree(descriptor);
    if (error != ERROR_SUCCESS) return windows_error("protecting " + path, error);
    return {};
}

/// The documented functions answer with an old version to programs without a manifest.
std::uint32_t windows_build() {
    using GetVersion = LONG(WINAPI*)(OSVERSIONINFOW*);
    const auto get = reinterpret_cast<GetVersion>(reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlGetVersion")));
    OSVERSIONINFOW version{};
    version.dwOSVersionInfoSize = sizeof version;
    return get && get(&version) == 0 ? version.dwBuildNumber : 0;
}

/// A runtime that is just starting, as after a boot, is given some seconds for its pipe.
bool pipe_answers(const std::string& endpoint) {
    const std::wstring path = to_wide(kubelet::runtime_path(endpoint));
    constexpr int Attempts = 25;
    for (int attempt = 0; attempt < Attempts; ++attempt) {
        if (WaitNamedPipeW(path.c_str(), 1000) || GetLastError() == ERROR_SEM_TIMEOUT) return true;
        Sleep(200);
    }
    return false;
}

bool port_is_free(std::uint16_t port) {
    WSADATA data;
    if (WSAStartup(MAKEWORD(2, 2), &data) != 0) return true;
    const SOCKET socket = ::socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    const BOOL exclusive = TRUE;
    ::setsockopt(socket, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, reinterpret_cast<const char*>(&exclusive), sizeof exclusive);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = ::htons(port);
    const bool is_free = socket == INVALID_SOCKET || ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::closesocket(socket);
    WSACleanup();
    return is_free;
}

std::uint64_t page_file_bytes() {
    MEMORYSTATUSEX memory{};
    memory.dwLength = sizeof memory;
    if (!GlobalMemoryStatusEx(&memory)) return 1;  // unknown is no reason for a warning
    return memory.ullTotalPageFile > memory.ullTotalPhys ? memory.ullTotalPageFile - memory.ullTotalPhys : 0;
}

/// A text of the machine's registry with its variables expanded, "" without one. Expandable texts are included: RRF_RT_REG_EXPAND_SZ is
/// for those that are not to be expanded, and otherwise an invalid parameter.
std::string machine_text(const std::wstring& key, const wchar_t* name) {
    std::wstring text(32'768, L'\0');
    auto size = static_cast<DWORD>(text.size() * sizeof(wchar_t));
    const auto code = RegGetValueW(HKEY_LOCAL_MACHINE, key.c_str(), name, RRF_RT_REG_SZ, nullptr, text.data(), &size);
    return code == ERROR_SUCCESS ? to_utf8(text.c_str()) : "";
}

/// The program that a service starts, or "". NSSM is not it, but what it starts.
std::string program_of_service(const std::string& name) {
    const std::wstring key = L"SYSTEM\\CurrentControlSet\\Services\\" + to_wide(name);
    const std::string wrapped = machine_text(key + L"\\Parameters", L"Application");
    if (!wrapped.empty()) return wrapped;
    const auto words = split_windows_command_line(machine_text(key, L"ImagePath"));
    return words.empty() ? "" : words.front();
}

bool belongs_to_another(const WindowsNode& node, const std::string& service) {
    const std::string program = program_of_service(service);
    return !program.empty() && !is_program_of(node, program);
}

bool is_same_file(const fs::path& one, const fs::path& other) {
    std::error_code code;
    return fs::exists(other, code) && fs::equivalent(one, other, code) && !code;
}

Result<void> place(const fs::path& program, const fs::path& target) {
    if (is_same_file(program, target)) return {};
    DeleteFileW(target.c_str());
    if (CreateHardLinkW(target.c_str(), program.c_str(), nullptr)) return {};
    // Another drive, or a file system without links.
    if (CopyFileW(program.c_str(), target.c_str(), FALSE)) return {};
    return windows_error("placing " + to_utf8(target.wstring()), GetLastError());
}

}  // namespace

bool is_elevated() {
    SID_IDENTIFIER_AUTHORITY authority = SECURITY_NT_AUTHORITY;
    PSID administrators = nullptr;
    BOOL member = FALSE;
    if (!AllocateAndInitializeSid(&authority, 2, SECURITY_BUILTIN_DOMAIN_RID, DOMAIN_ALIAS_RID_ADMINS, 0, 0, 0, 0, 0, 0, &administrators)) {
        return false;
    }
    const bool checked = CheckTokenMembership(nullptr, administrators, &member);
    FreeSid(administrators);
    return checked && member;
}

fs::path own_program() {
    std::wstring path(32'768, L'\0');
    path.resize(GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size())));
    return path;
}

std::string computer_name() {
    wchar_t name[256] = L"";
    DWORD size = std::size(name);
    GetComputerNameExW(ComputerNameDnsHostname, name, &size);
    return to_lower(to_utf8(name));
}

std::string machine_variable(const wchar_t* name) {
    wchar_t text[4096] = L"";
    const DWORD size = GetEnvironmentVariableW(name, text, std::size(text));
    return size > 0 && size < std::size(text) ? to_utf8(text) : "";
}

std::string registered_machine_variable(const std::string& name) {
    return machine_text(L"SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment", to_wide(name).c_str());
}

HostFacts look_at_host(const WindowsNode& node, ServiceManager& manager) {
    HostFacts facts{.elevated = is_elevated(),
                    .build = windows_build(),
                    .runtime_answers = pipe_answers(node.runtime_endpoint),
                    .proxy = machine_variable(L"HTTPS_PROXY"),
                    .no_proxy = machine_variable(L"NO_PROXY"),
                    .page_file = page_file_bytes(),
                    .processors = ::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS)};
    if (const HMODULE network = LoadLibraryExW(L"computenetwork.dll", nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32)) {
        FreeLibrary(network);
    } else {
        facts.network_service = "the host network service is not available (computenetwork.dll)";
    }
    if (const auto address = IpAddress::parse(node.ip)) facts.adapter = net::mac_of_interface_with(*address);
    facts.stale_files = find_stale_files(*make_file_system(), node, "");
    bool own_runs = false;
    for (const char* name : NodeServices) {
        const bool is_foreign = belongs_to_another(node, name);
        // Another's CSI proxy is used as it is.
        if (is_foreign && std::string_view(name) != CsiProxyService) facts.foreign_service = name;
        if (is_foreign) continue;
        const auto state = manager.find(name);
        own_runs |= state && *state && **state != ServiceState::Stopped;
    }
    if (!own_runs) {
        for (const std::uint16_t port : {KubeletPort, ProxyHealthPort}) {
            if (!port_is_free(port)) facts.taken_ports.push_back(port);
        }
    }
    return facts;
}

bool has_other_csi_proxy(const WindowsNode& node, ServiceManager& manager) {
    const auto service = manager.find(CsiProxyService);
    if (service && *service) return belongs_to_another(node, CsiProxyService);
    constexpr DWORD Shortest = 1;  // milliseconds; 0 would be the server's own
    return service && (WaitNamedPipeW(L"\\\\.\\pipe\\csi-proxy-filesystem-v1", Shortest) || GetLastError() != ERROR_FILE_NOT_FOUND);
}

std::vector<std::string> own_services(const WindowsNode& node) {
    std::vector<std::string> names{std::begin(NodeServices), std::end(NodeServices)};
    if (belongs_to_another(node, CsiProxyService)) std::erase(names, CsiProxyService);
    return names;
}

Result<void> install_programs(const WindowsNode& node) {
    const fs::path folder = to_wide(node.folder), cni = to_wide(node.cni_folder()), program = folder / L"porthole.exe";
    const auto files = make_file_system();
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) return Error(Reason::Io, "cannot make " + node.folder + ": " + code.message());
    // Below C:\\ every user may change what others have made, and services run these programs as the system.
    TRY_VOID(protect(node.folder, L"(A;OICI;FRFX;;;BU)"));
    // What someone else has put there before stays theirs; a DLL beside a program is loaded by it.
    TRY(const std::string foreign, find_of_others(*files, node.folder));
    if (!foreign.empty())
        return Error(Reason::Forbidden, foreign +
                                            " belongs to a user who is not an administrator: delete it, or, if you know what it is, " +
                                            "takeown /F " + node.folder + " /R /A");
    fs::create_directories(cni / L"config", code);
    if (!code) fs::create_directories(to_wide(node.log_folder), code);
    if (code) return Error(Reason::Io, "cannot make the directories of " + node.folder + ": " + code.message());
    // A kubeconfig that was copied there by hand has a key, and everybody may read what is there otherwise.
    TRY_VOID(ignore_not_found(files->change_mode(node.kubeconfig(), 0600)));
    const fs::path own = own_program();
    if (!fs::exists(program, code) || to_lower(own.parent_path().string()) != to_lower(folder.string())) TRY_VOID(place(own, program));
    for (const char* name : HostPrograms) {
        if (!is_same_file(own, folder / (std::string(name) + ".exe"))) TRY_VOID(place(program, folder / (std::string(name) + ".exe")));
    }
    for (const char* name : CniPrograms) TRY_VOID(place(program, cni / (std::string(name) + ".exe")));
    return {};
}

Result<void> make_secret_folder(const std::string& path) {
    std::error_code code;
    fs::create_directories(to_wide(path), code);
    if (code) return Error(Reason::Io, "cannot make " + path + ": " + code.message());
    return protect(path, L"");
}

}  // namespace porthole::node_join
