#include "winhost/bundle/oci_bundle.h"

#include <string_view>

#include "runtime/processes/user_namespace.h"
#include "schema/json/json.h"
#include "winhost/bundle/seccomp_profile.h"

namespace porthole::winhost {
namespace {

using schema::Array;
using schema::Value;

Value strings(std::initializer_list<const char*> texts) {
    Array array;
    for (const char* text : texts) array.emplace_back(text);
    return array;
}

Value mount(const char* destination, const char* type, std::initializer_list<const char*> options) {
    return Value::object({{"destination", destination}, {"type", type}, {"source", type}, {"options", strings(options)}});
}

/// Root of a user namespace may change no mount to one that allows more than its source does: the host's file systems, where volumes are,
/// have neither programs with others' rights nor devices.
Value bind(const OciMount& mount) {
    Value options = mount.read_only ? strings({"rbind", "ro", "nosuid", "nodev", "private"}) : strings({"rbind", "rw", "private"});
    return Value::object({{"destination", mount.destination}, {"type", "bind"}, {"source", mount.source}, {"options", std::move(options)}});
}

Value mounts_of(const OciBundle& bundle) {
    Array mounts;
    mounts.push_back(mount("/proc", "proc", {"nosuid", "noexec", "nodev"}));
    mounts.push_back(mount("/dev", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=1m"}));
    if (bundle.with_devices) {
        mounts.push_back(mount("/sys", "sysfs", {"nosuid", "noexec", "nodev", "ro"}));
        mounts.push_back(mount("/dev/pts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}));
        mounts.push_back(mount("/dev/shm", "tmpfs", {"nosuid", "noexec", "nodev", "mode=1777", "size=64m"}));
        mounts.push_back(mount("/tmp", "tmpfs", {"nosuid", "nodev", "mode=1777", "size=64m"}));
        mounts.push_back(mount("/run", "tmpfs", {"nosuid", "nodev", "mode=755", "size=16m"}));
    }
    for (const OciMount& own : bundle.mounts) mounts.push_back(bind(own));
    return mounts;
}

Value space(const char* type, const std::string& path) {
    Value value = Value::object({{"type", type}});
    if (!path.empty()) value["path"] = path;
    return value;
}

/// runc since 1.1.13 takes every path that begins with /proc/PID/ for the user namespace of that process, and reads its ids instead of
/// those of the namespace behind the descriptor.
std::string path_for_runc(const std::string& path) {
    constexpr std::string_view Processes = "/proc/";
    return path.starts_with(Processes) ? "/proc/./" + path.substr(Processes.size()) : path;
}

Value namespaces_of(const OciBundle& bundle) {
    Array spaces = {space("pid", ""),
                    space("mount", ""),
                    space("cgroup", ""),
                    space("network", bundle.network_namespace_path),
                    space("ipc", bundle.ipc_namespace_path),
                    space("uts", bundle.uts_namespace_path)};
    if (bundle.user_namespace) spaces.push_back(space("user", path_for_runc(bundle.user_namespace->path)));
    return spaces;
}

/// As the user namespace has them already; runc asks for them nonetheless.
Value ids_of(const OciUserNamespace& users) {
    return Array{Value::object({{"containerID", 0}, {"hostID", std::int64_t{users.root}}, {"size", std::int64_t{UserNamespace::Ids}}})};
}

/// Everything belongs to root in a container, so it needs none to read and write. Low ports are for anybody on Windows, and Wine's ping
/// needs a raw socket. The sandbox's process needs nothing.
Value capabilities(const OciBundle& bundle) {
    const Value list = bundle.with_devices ? strings({"CAP_NET_BIND_SERVICE", "CAP_NET_RAW"}) : Value(Array());
    return Value::object({{"bounding", list}, {"effective", list}, {"permitted", list}});
}

Value resources(const OciLimits& limits) {
    const Value no_device = Value::object({{"allow", false}, {"access", "rwm"}});  // runc adds null, zero, random, terminals
    Value value = Value::object({{"devices", Array{no_device}}});
    if (limits.memory_bytes > 0) value["memory"] = Value::object({{"limit", limits.memory_bytes}});
    if (limits.cpu_quota_us > 0) value["cpu"] = Value::object({{"quota", limits.cpu_quota_us}, {"period", OciLimits::CpuPeriodUs}});
    if (limits.processes > 0) value["pids"] = Value::object({{"limit", limits.processes}});
    return value;
}

/// What tells about the machine and what others on it do; runc leaves out those that are not there.
Value masked_paths() {
    return strings({"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
                    "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/devices/virtual/powercap",
                    "/sys/firmware"});
}

}  // namespace

std::string make_oci_config(const OciBundle& bundle) {
    Array arguments, environment;
    for (const std::string& argument : bundle.arguments) arguments.emplace_back(argument);
    for (const auto& [name, value] : bundle.environment) environment.emplace_back(name + "=" + value);
    Value config = Value::object({
        {"ociVersion", "1.0.2"},
        {"process", Value::object({{"terminal", false},
                                   {"user", Value::object({{"uid", 0}, {"gid", 0}})},
                                   {"args", arguments},
                                   {"env", environment},
                                   {"cwd", "/"},
                                   {"noNewPrivileges", true},
                                   {"capabilities", capabilities(bundle)}})},
        {"root", Value::object({{"path", bundle.user_namespace ? ReachableRoot : bundle.rootfs}, {"readonly", bundle.read_only_rootfs}})},
        {"mounts", mounts_of(bundle)},
        {"linux", Value::object({{"namespaces", namespaces_of(bundle)},
                                 {"cgroupsPath", bundle.cgroup_path},
                                 {"resources", resources(bundle.limits)},
                                 {"seccomp", seccomp_profile(bundle.with_32_bit)},
                                 {"maskedPaths", masked_paths()},
                                 {"readonlyPaths", strings({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"})}})},
    });
    if (bundle.user_namespace) {
        Value& linux_part = config["linux"];
        linux_part["uidMappings"] = ids_of(*bundle.user_namespace);
        linux_part["gidMappings"] = ids_of(*bundle.user_namespace);
    }
    if (bundle.uts_namespace_path.empty()) config["hostname"] = bundle.hostname;
    return schema::to_json(config);
}

}  // namespace porthole::winhost
