#include "cmd/self_check/areas/access_list_windows.h"
#include "cmd/self_check/machine.h"
#include "node_join/windows_node/host_windows.h"
#include "runtime/files/file_owners_windows.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

constexpr const char *ContainerUser = "S-1-5-93-2-2", *NetworkService = "NT AUTHORITY\\NETWORK SERVICE";

/// A file with mode 0600 is a secret's: closed from its creation on, also where its directory is open.
Result<Value> private_file(Machine& machine) {
    TRY_VOID(machine.files.write(machine.path("key"), "x", 0600));
    return rights_of_file(machine.path("key"));
}

Result<Value> private_directory(Machine& machine) {
    TRY_VOID(machine.files.create_directories(machine.path("closed"), 0700));
    TRY_VOID(machine.files.write(machine.path("closed\\file"), "x", 0644));
    TRY(Value directory, rights_of_file(machine.path("closed")));
    TRY(Value file, rights_of_file(machine.path("closed\\file")));
    return Value::object({{"directory", std::move(directory)}, {"file", std::move(file)}});
}

Result<Value> restricted(Machine& machine) {
    const std::string pods = machine.path("pods");
    TRY_VOID(machine.files.create_directories(pods + "\\below", 0755));
    TRY_VOID(machine.files.write(pods + "\\below\\before", "x", 0644));
    TRY_VOID(machine.files.restrict_to_administrators(pods));
    TRY_VOID(machine.files.write(pods + "\\below\\after", "x", 0644));
    TRY(Value directory, rights_of_file(pods));
    TRY(Value before, rights_of_file(pods + "\\below\\before"));
    TRY(Value after, rights_of_file(pods + "\\below\\after"));
    TRY(const std::string text, machine.files.read(pods + "\\below\\before"));
    return Value::object({{"directory", std::move(directory)}, {"before", std::move(before)}, {"after", std::move(after)}, {"read", text}});
}

/// The account of a container is let into its pod's volumes only, by the number that it has on every Windows.
Result<Value> reader_let_in(Machine& machine) {
    const std::string volume = machine.path("volume");
    TRY_VOID(machine.files.create_directories(volume, 0755));
    TRY_VOID(machine.files.restrict_to_administrators(volume));
    TRY_VOID(machine.files.write(volume + "\\before", "x", 0600));
    TRY_VOID(machine.files.allow_reading(volume, ContainerUser));
    TRY_VOID(machine.files.write(volume + "\\after", "x", 0644));
    TRY(Value directory, rights_of_file(volume));
    TRY(Value before, rights_of_file(volume + "\\before"));
    TRY(Value after, rights_of_file(volume + "\\after"));
    return Value::object({{"directory", std::move(directory)}, {"before", std::move(before)}, {"after", std::move(after)}});
}

Result<Value> accounts_by_name(Machine& machine) {
    TRY_VOID(machine.files.create_directories(machine.path("volume"), 0700));
    TRY_VOID(machine.files.allow_reading(machine.path("volume"), NetworkService));
    TRY(Value volume, rights_of_file(machine.path("volume")));
    const auto unknown = machine.files.allow_reading(machine.path("volume"), "nobody-of-this-machine");
    return Value::object({{"volume", std::move(volume)}, {"unknownNotFound", is_not_found(unknown)}});
}

/// What a program of a node has made does not count as another account's.
Result<Value> owner(Machine& machine) {
    TRY_VOID(machine.files.create_directories(machine.path("a\\b"), 0755));
    TRY_VOID(machine.files.write(machine.path("a\\b\\c.dll"), "x", 0644));
    TRY(const std::string others, find_of_others(machine.files, machine.folder));
    return Value::object({{"ofOthers", !others.empty()}});
}

/// The directory of a node's keys.
Result<Value> secret_folder(Machine& machine) {
    TRY_VOID(node_join::make_secret_folder(machine.path("pki")));
    TRY_VOID(machine.files.write(machine.path("pki\\key"), "x", 0644));
    TRY(Value directory, rights_of_file(machine.path("pki")));
    TRY(Value file, rights_of_file(machine.path("pki\\key")));
    return Value::object({{"directory", std::move(directory)}, {"file", std::move(file)}});
}

}  // namespace

Area area_access() {
    return {.probes = {{"private-file", private_file},
                       {"private-directory", private_directory},
                       {"restricted", restricted},
                       {"reader-let-in", reader_let_in},
                       {"accounts-by-name", accounts_by_name},
                       {"owner", owner},
                       {"secret-folder", secret_folder}},
            .parts = {}};
}

}  // namespace porthole::cmd::self_check
