#include "winhost/bundle/oci_bundle.h"

#include "schema/json.h"

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

Value bind(const OciMount& mount) {
    return Value::object({{"destination", mount.destination},
                          {"type", "bind"},
                          {"source", mount.source},
                          {"options", strings({"rbind", mount.read_only ? "ro" : "rw", "private"})}});
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

/// What Wine and ordinary programs need; nothing that reaches out of the namespaces.
Value capabilities() {
    const Value list = strings(
        {"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SETGID", "CAP_SETUID"});
    return Value::object({{"bounding", list}, {"effective", list}, {"permitted", list}});
}

Value resources(const OciLimits& limits) {
    Value value = Value::object();
    if (limits.memory_bytes > 0) value["memory"] = Value::object({{"limit", limits.memory_bytes}});
    if (limits.cpu_quota_us > 0) value["cpu"] = Value::object({{"quota", limits.cpu_quota_us}, {"period", OciLimits::CpuPeriodUs}});
    if (limits.processes > 0) value["pids"] = Value::object({{"limit", limits.processes}});
    return value;
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
                                   {"capabilities", capabilities()}})},
        {"root", Value::object({{"path", bundle.rootfs}, {"readonly", bundle.read_only_rootfs}})},
        {"mounts", mounts_of(bundle)},
        {"linux",
         Value::object({{"namespaces", Array{space("pid", ""), space("mount", ""), space("network", bundle.network_namespace_path),
                                             space("ipc", bundle.ipc_namespace_path), space("uts", bundle.uts_namespace_path)}},
                        {"cgroupsPath", bundle.cgroup_path},
                        {"resources", resources(bundle.limits)},
                        {"maskedPaths", strings({"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware"})},
                        {"readonlyPaths", strings({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"})}})},
    });
    if (bundle.uts_namespace_path.empty()) config["hostname"] = bundle.hostname;
    return schema::to_json(config);
}

}  // namespace porthole::winhost
