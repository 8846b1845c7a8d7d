#include <windows.h>

#include "base/wide_windows.h"
#include "cmd/self_check/machine.h"
#include "csi_proxy/held_removal.h"
#include "runtime/handle_windows.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

const char* type_of(Machine& machine, const std::string& name) {
    const auto status = machine.files.link_status(machine.path(name));
    if (!status) return "none";
    return status->type == FileType::Symlink ? "link" : status->is_directory() ? "directory" : "file";
}

/// A directory with a file, and something that leads to it.
Result<void> make_target(Machine& machine) {
    TRY_VOID(machine.files.create_directories(machine.path("target"), 0755));
    return machine.files.write(machine.path("target\\file"), "x", 0644);
}

/// Made by Windows' own command, as containers and people do.
Result<void> make_junction(Machine& machine, const std::string& name) {
    TRY_VOID(make_target(machine));
    TRY(const CommandOutput made, machine.world.run(machine.world.processes->run(
                                      {.arguments = {"cmd", "/c", "mklink", "/J", machine.path(name), machine.path("target")}})));
    if (made.exit_code != 0) return Error(Reason::Io, "mklink ends with code " + std::to_string(made.exit_code));
    return {};
}

Result<Value> to_file(Machine& machine) {
    TRY_VOID(make_target(machine));
    TRY_VOID(machine.files.create_symlink("target\\file", machine.path("link")));
    TRY(const std::string text, machine.files.read(machine.path("link")));
    TRY(const std::string target, machine.files.read_link(machine.path("link")));
    TRY_VOID(machine.files.remove(machine.path("link")));
    return Value::object({{"text", text}, {"target", target}, {"left", type_of(machine, "target\\file")}});
}

Result<Value> to_directory(Machine& machine) {
    TRY_VOID(make_target(machine));
    TRY_VOID(machine.files.create_symlink("target", machine.path("link")));
    const std::string type = type_of(machine, "link");
    TRY(const std::string text, machine.files.read(machine.path("link\\file")));
    TRY(const std::string resolved, machine.files.real_path(machine.path("link\\file")));
    TRY(const std::string direct, machine.files.real_path(machine.path("target\\file")));
    TRY_VOID(machine.files.remove(machine.path("link")));
    return Value::object({{"type", type}, {"text", text}, {"resolved", resolved == direct}, {"left", type_of(machine, "target\\file")}});
}

/// As a volume's `..data` changes from one version to the next.
Result<Value> renamed_over(Machine& machine) {
    TRY_VOID(make_target(machine));
    TRY_VOID(machine.files.create_directories(machine.path("next"), 0755));
    TRY_VOID(machine.files.write(machine.path("next\\file"), "newer", 0644));
    TRY_VOID(machine.files.create_symlink("target", machine.path("..data")));
    TRY_VOID(machine.files.create_symlink("next", machine.path("..data_tmp")));
    TRY_VOID(machine.files.rename(machine.path("..data_tmp"), machine.path("..data")));
    TRY(const std::string text, machine.files.read(machine.path("..data\\file")));
    return Value::object({{"text", text}, {"left", type_of(machine, "target\\file")}});
}

/// As the kubelet removes a pod's directories: what a container has made there leads to nothing else.
Result<Value> tree_with_link(Machine& machine) {
    TRY_VOID(make_target(machine));
    TRY_VOID(machine.files.create_directories(machine.path("pod"), 0755));
    TRY_VOID(machine.files.create_symlink(machine.path("target"), machine.path("pod\\link")));
    TRY_VOID(machine.files.remove_all(machine.path("pod")));
    return Value::object({{"pod", type_of(machine, "pod")}, {"left", type_of(machine, "target\\file")}});
}

Result<Value> junction(Machine& machine) {
    TRY_VOID(make_junction(machine, "junction"));
    const std::string type = type_of(machine, "junction");
    TRY(const std::string target, machine.files.read_link(machine.path("junction")));
    TRY_VOID(machine.files.remove_all(machine.path("junction")));
    return Value::object({{"type", type}, {"target", target == machine.path("target")}, {"left", type_of(machine, "target\\file")}});
}

/// The CSI proxy removes by open directories, and enters none that is a junction.
Result<Value> not_through_junction(Machine& machine) {
    TRY_VOID(make_junction(machine, "junction"));
    const auto removed = csi_proxy::remove_held(machine.folder, machine.path("junction\\file"), csi_proxy::Removal::One);
    if (!removed) return Error(Reason::MethodNotAllowed, "removed by names here");
    const bool refused = !*removed && removed->error().reason == Reason::Forbidden;
    const auto whole = csi_proxy::remove_held(machine.folder, machine.path("junction"), csi_proxy::Removal::Tree);
    return Value::object({{"refused", refused},
                          {"removed", whole->has_value()},
                          {"junction", type_of(machine, "junction")},
                          {"left", type_of(machine, "target\\file")}});
}

/// A directory that is open without leave to delete it keeps its name, so that nothing takes its place meanwhile.
Result<Value> held_directory(Machine& machine) {
    TRY_VOID(make_target(machine));
    DWORD code = ERROR_SUCCESS;
    {
        const Handle held(CreateFileW(to_wide(machine.path("target")).c_str(), FILE_LIST_DIRECTORY | FILE_TRAVERSE,
                                      FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
        if (!held) return windows_error("opening a directory", GetLastError());
        if (!MoveFileExW(to_wide(machine.path("target")).c_str(), to_wide(machine.path("elsewhere")).c_str(), 0)) code = GetLastError();
    }
    return Value::object({{"renamed", code == ERROR_SUCCESS}, {"type", type_of(machine, "target")}});
}

}  // namespace

Area area_links() {
    return {.probes = {{"link-to-file", to_file},
                       {"link-to-directory", to_directory},
                       {"link-renamed-over", renamed_over},
                       {"tree-with-link", tree_with_link},
                       {"junction", junction},
                       {"not-through-junction", not_through_junction},
                       {"held-directory", held_directory}},
            .parts = {}};
}

}  // namespace porthole::cmd::self_check
