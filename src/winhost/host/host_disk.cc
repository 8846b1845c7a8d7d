#include "winhost/host/host_disk.h"

#include <string_view>

#include "runtime/files/file_system.h"
#include "winhost/bundle/held_tree.h"
#include "winhost/template/drive.h"
#include "winhost/template/registry_edits.h"
#include "winhost/template/registry_file.h"

namespace porthole::winhost {
namespace {

constexpr const char* SystemRegistry = "wine/system.reg";
constexpr const char* PathKey = "System\\CurrentControlSet\\Control\\Session Manager\\Environment";
constexpr const char* ExtraPath = "C:\\k;C:\\k\\cni";

std::string program_data() { return join_path(Drive, "ProgramData/Porthole"); }
std::string own_file(const char* name) { return join_path(program_data(), name); }

Result<void> extend_path(RegistryFile& registry) {
    std::string value = registry.value(PathKey, "PATH");
    std::string escaped;
    for (const char letter : std::string_view(ExtraPath)) escaped += letter == '\\' ? std::string("\\\\") : std::string(1, letter);
    if (value.find(escaped) != value.npos) return {};
    if (!value.ends_with('"')) return Error(Reason::Invalid, "the host's registry holds no PATH");
    trim_host(registry);
    value.insert(value.size() - 1, ";" + escaped);
    registry.set(PathKey, "PATH", value);
    return {};
}

}  // namespace

Result<void> write_host_services(const std::string& root, const std::string& host_file, const std::string& token) {
    TRY(const HeldTree tree, HeldTree::open(root));
    TRY_VOID(tree.create_directories(program_data(), 0700));
    TRY_VOID(tree.write(own_file("emulator.json"), host_file, 0600));
    return tree.write(own_file("token"), token + "\n", 0600);
}

Result<std::string> read_host_services(const std::string& root) {
    TRY(const HeldTree tree, HeldTree::open(root));
    return tree.read(own_file("emulator.json"), FileSystem::ReadLimit);
}

Result<void> prepare_registry(const std::string& root, const HostProfile& profile) {
    TRY(const HeldTree tree, HeldTree::open(root));
    TRY(const std::string text, tree.read(SystemRegistry, FileSystem::ReadLimit));
    TRY(RegistryFile registry, RegistryFile::parse(text));
    const std::string before = registry.text();
    TRY_VOID(extend_path(registry));
    if (!says_profile(registry, profile)) apply_profile(registry, profile);
    const std::string after = registry.text();
    return after == before ? Result<void>() : tree.write(SystemRegistry, after, 0644);
}

}  // namespace porthole::winhost
