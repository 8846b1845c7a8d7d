#include "kubelet/devices/cdi_specs.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <map>

#include "schema/yaml/yaml.h"

namespace porthole::kubelet {
namespace {

using schema::Value;
namespace cri = api::cri::v1;

/// The later one counts.
constexpr const char* Folders[] = {"/etc/cdi", "/var/run/cdi"};
constexpr const char* NeedsNewer = "needs a container runtime that knows CDI: containerd 2.0";
constexpr std::size_t MostFiles = 1024, LargestFile = 1 << 20;

const Value* find(const Value& object, std::string_view key) {
    const Value* found = object.is_object() ? object.as_object().find(key) : nullptr;
    return found && !found->is_null() ? found : nullptr;
}

const schema::Array& list_at(const Value& object, std::string_view key) {
    static const schema::Array Empty;
    const Value* found = find(object, key);
    return found && found->is_array() ? found->as_array() : Empty;
}

Error at_fault(const std::string& path, const std::string& what) {
    return Error(Reason::BadRequest, "CDI specification " + path + ": " + what);
}

/// What CRI has no field for. It is refused, as a device that differs from what its vendor says may not work, or be open to others.
Result<void> check_fields(const Value& edit, std::initializer_list<std::string_view> known, const std::string& of,
                          const std::string& path) {
    if (!edit.is_object()) return at_fault(path, of + " is not an object");
    for (const schema::Member& member : edit.as_object())
        if (!member.value.is_null() && std::ranges::find(known, member.key) == known.end())
            return at_fault(path, std::string(member.key) + " of " + of + " " + NeedsNewer);
    return {};
}

Result<bool> is_read_only(const Value& mount, const std::string& path) {
    bool read_only = false;
    for (const Value& option : list_at(mount, "options")) {
        const std::string text(option.string_or(""));
        if (text != "ro" && text != "rw" && text != "bind" && text != "rbind" && text != "private" && text != "rprivate")
            return at_fault(path, "option \"" + text + "\" of a mount " + NeedsNewer);
        read_only = read_only || text == "ro";
    }
    return read_only;
}

Result<void> apply(const Value& edits, const std::string& path, cri::ContainerConfig& config) {
    TRY_VOID(check_fields(edits, {"env", "deviceNodes", "mounts"}, "containerEdits", path));
    for (const Value& variable : list_at(edits, "env")) {
        const std::string text(variable.string_or(""));
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0) return at_fault(path, "a variable is not NAME=VALUE");
        const std::string name = text.substr(0, equals);
        std::erase_if(config.envs, [&](const cri::KeyValue& one) { return one.key == name; });
        cri::KeyValue& added = config.envs.emplace_back();
        added.key = name;
        added.value = text.substr(equals + 1);
    }
    for (const Value& node : list_at(edits, "deviceNodes")) {
        // What a node of that path is, the runtime reads from the path: the fields that repeat it change nothing.
        TRY_VOID(check_fields(node, {"path", "hostPath", "permissions", "type", "major", "minor"}, "a device node", path));
        cri::Device& added = config.devices.emplace_back();
        added.container_path = node.string_at({"path"});
        added.host_path = node.string_at({"hostPath"});
        added.permissions = node.string_at({"permissions"});
        if (added.container_path.empty()) return at_fault(path, "a device node has no path");
        if (added.host_path.empty()) added.host_path = added.container_path;
        if (added.permissions.empty()) added.permissions = "rwm";
    }
    for (const Value& mount : list_at(edits, "mounts")) {
        TRY_VOID(check_fields(mount, {"containerPath", "hostPath", "options"}, "a mount", path));
        cri::Mount& added = config.mounts.emplace_back();
        added.container_path = mount.string_at({"containerPath"});
        added.host_path = mount.string_at({"hostPath"});
        if (added.container_path.empty() || added.host_path.empty()) return at_fault(path, "a mount has no path");
        TRY(const bool read_only, is_read_only(mount, path));
        added.readonly = read_only;
    }
    return {};
}

/// A specification, and the file that it is in.
struct Spec {
    std::string path;
    Value value;
};

/// By kind ("vendor.com/class"). A file that cannot be read is none: it may be of another driver.
std::multimap<std::string, Spec> read_specs(FileSystem& files) {
    std::multimap<std::string, Spec> specs;
    std::size_t looked_at = 0;
    for (const char* folder : Folders)
        for (const std::string& name : files.list(folder).value_or(std::vector<std::string>())) {
            if (!name.ends_with(".json") && !name.ends_with(".yaml")) continue;
            if (looked_at++ == MostFiles) return specs;
            const std::string path = std::string(folder) + "/" + name;
            const auto text = files.read_untrusted(path, 0, LargestFile + 1);
            if (!text || text->size() > LargestFile) continue;
            if (auto value = schema::parse_yaml(*text)) specs.emplace(value->string_at({"kind"}), Spec{path, *std::move(value)});
        }
    return specs;
}

}  // namespace

Result<void> add_cdi_devices(FileSystem& files, const std::vector<std::string>& ids, cri::ContainerConfig& config) {
    if (ids.empty()) return {};
    const auto specs = read_specs(files);
    std::vector<const Spec*> applied;
    for (const std::string& id : ids) {
        const std::string kind = id.substr(0, id.find('=')), name = id.substr(std::min(kind.size() + 1, id.size()));
        const Spec* spec = nullptr;
        const Value* device = nullptr;
        for (auto [at, end] = specs.equal_range(kind); at != end; ++at)
            for (const Value& one : list_at(at->second.value, "devices")) {
                if (one.string_at({"name"}) != name) continue;
                if (spec && parent_path(spec->path) == parent_path(at->second.path))
                    return at_fault(at->second.path, "device " + id + " is in " + spec->path + " too");
                spec = &at->second;
                device = &one;
            }
        if (!device) return Error(Reason::NotFound, "unresolvable CDI devices " + id);
        // What holds for all devices of a file comes once.
        const Value* common = find(spec->value, "containerEdits");
        if (common && std::ranges::find(applied, spec) == applied.end()) {
            TRY_VOID(apply(*common, spec->path, config));
            applied.push_back(spec);
        }
        if (const Value* own = find(*device, "containerEdits")) TRY_VOID(apply(*own, spec->path, config));
    }
    return {};
}

bool runtime_knows_cdi(const std::string& runtime) {
    constexpr std::string_view Containerd = "containerd://";
    int major = 0;
    if (!runtime.starts_with(Containerd) || std::sscanf(runtime.c_str() + Containerd.size(), "%d", &major) != 1) return true;
    return major >= 2;
}

}  // namespace porthole::kubelet
