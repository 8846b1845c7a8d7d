#include "kubelet/volumes/block_devices/device_volumes.h"

#include <algorithm>

#include "base/strings.h"
#include "kubelet/volumes/block_devices/fibre_channel.h"
#include "kubelet/volumes/block_devices/file_systems.h"
#include "kubelet/volumes/block_devices/iscsi.h"
#include "kubelet/volumes/block_devices/local_device.h"
#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/selinux/selinux_contexts.h"
#include "net/tls/crypto.h"
#include "runtime/worker_pool.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

constexpr std::size_t LargestRecord = 64 << 10;

std::string to_json(const DeviceDetails& details) {
    schema::Value all = schema::Value::object({});
    for (const auto& [name, value] : details) all[name] = value;
    return schema::to_json(all);
}

bool have_common(const std::vector<std::string>& some, const std::vector<std::string>& others) {
    return std::ranges::any_of(some, [&](const std::string& one) { return std::ranges::find(others, one) != others.end(); });
}

}  // namespace

DeviceKind* DeviceVolumes::find_kind(const std::string& name) const {
    const auto found = std::ranges::find_if(kinds_, [&](const auto& kind) { return kind->name() == name; });
    return found == kinds_.end() ? nullptr : found->get();
}

std::shared_ptr<Semaphore> DeviceVolumes::lock_of(const std::string& folder) {
    std::erase_if(locks_, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<Semaphore> lock = locks_[folder].lock();
    if (!lock) locks_[folder] = lock = std::make_shared<Semaphore>(1);
    return lock;
}

std::shared_ptr<Semaphore> DeviceVolumes::session_lock(DeviceKind& kind, const DeviceDetails& details) {
    return lock_of(folder_of_kind(kind.name()) + ":" + kind.session_of(details));
}

std::string DeviceVolumes::folder_of(const DeviceVolume& volume) const {
    return folder_of_kind(volume.kind) + "/" + net::sha256_hex(to_json(volume.details));
}

Task<MountedVolume> DeviceVolumes::set_up(const VolumeRequest& request, DeviceVolume volume) {
    DeviceKind* const kind = find_kind(volume.kind);
    if (!kind) co_return Error(Reason::BadRequest, volume.kind + " volumes are not supported on this node");
    if (volume.fs_type.empty()) volume.fs_type = "ext4";
    if (!is_file_system_name(volume.fs_type)) co_return Error(Reason::BadRequest, "\"" + volume.fs_type + "\" is not a file system");
    CO_TRY_VOID(kind->check(volume.details));
    const std::string folder = folder_of(volume), uid = request.pod->metadata.uid;
    const std::shared_ptr<Semaphore> lock = lock_of(folder);
    CO_TRY(const auto permit, co_await lock->acquire());
    CO_TRY_VOID(check_mounted(folder, uid, volume));
    CO_TRY(const std::string device, co_await attach(*kind, folder, volume, uid, volume.is_block ? "" : request.directory));
    if (volume.is_block) co_return MountedVolume{.path = device, .read_only = volume.read_only, .is_block = true};
    CO_TRY_VOID(co_await mount_once(device, folder, volume));
    CO_TRY(const auto bound, host_.mounter.mounts_below(request.directory));
    if (bound.empty()) CO_TRY_VOID(host_.mounter.bind_beneath(folder, "mount", request.directory));
    MountedVolume mounted{.path = request.directory, .read_only = volume.read_only};
    mounted.relabel = !volume.read_only && volume.context.empty();
    if (volume.read_only || request.is_ready(host_.files)) co_return mounted;
    CO_TRY_VOID(co_await apply_fs_group(request.directory, request.pod, host_));
    CO_TRY_VOID(request.set_ready(host_.files));
    co_return mounted;
}

Task<> DeviceVolumes::grow(DeviceVolume volume) {
    DeviceKind* const kind = find_kind(volume.kind);
    if (!kind) co_return Error(Reason::BadRequest, volume.kind + " volumes are not supported on this node");
    const std::string folder = folder_of(volume);
    const std::shared_ptr<Semaphore> lock = lock_of(folder);
    CO_TRY(const auto permit, co_await lock->acquire());
    const std::vector<std::string> devices = kind->find(volume.details);
    if (devices.empty()) co_return Error(Reason::NotFound, "the device of the volume is gone");
    DeviceMount mount{.device = devices.front(), .target = folder + "/mount", .fs_type = volume.fs_type.empty() ? "ext4" : volume.fs_type};
    co_return co_await grow_to_device(std::move(mount), *host_.programs);
}

Task<std::string> DeviceVolumes::attach(DeviceKind& kind, std::string folder, const DeviceVolume& volume, std::string uid,
                                        std::string target) {
    const std::shared_ptr<Semaphore> lock = session_lock(kind, volume.details);
    CO_TRY(const auto permit, co_await lock->acquire());
    CO_TRY_VOID(record(kind, folder, volume, uid, target));
    co_return co_await kind.attach(volume.details, volume.secrets);
}

Result<void> DeviceVolumes::check_mounted(const std::string& folder, const std::string& uid, DeviceVolume& volume) {
    TRY(const auto mounts, host_.mounter.mounts_below(folder + "/mount"));
    const auto mounted_as = host_.files.read(folder + "/mounted-as", LargestRecord);
    if (volume.is_block || mounts.empty() || is_not_found(mounted_as)) return {};
    if (!mounted_as) return mounted_as.error();
    const std::vector<std::string> words = split_nonempty(*mounted_as, ' ');
    if (words.size() != 2 && words.size() != 3) return Error(Reason::Io, folder + "/mounted-as is not valid");
    if (words[0] != volume.fs_type)
        return Error(Reason::Conflict,
                     "the volume is mounted as \"" + words[0] + "\" for another pod of this node, not as \"" + volume.fs_type + "\"");
    if (words[1] == "ro" && !volume.read_only)
        return Error(Reason::Conflict, "the volume is mounted read-only for another pod of this node and cannot be written to");
    const std::string context = words.size() == 3 ? words[2] : "";
    if (host_.files.exists(folder + "/pods/" + uid)) volume.context = context;
    return context == volume.context ? Result<void>() : other_selinux_context("kubernetes.io/" + volume.kind + "/" + base_name(folder));
}

Task<> DeviceVolumes::mount_once(std::string device, std::string folder, const DeviceVolume& volume) {
    const std::string target = folder + "/mount";
    CO_TRY(const auto mounts, host_.mounter.mounts_below(target));
    if (!mounts.empty()) co_return {};
    CO_TRY_VOID(host_.files.create_directories(target, 0750));
    std::vector<std::string> options = volume.mount_options;
    std::string mounted_as = volume.fs_type + (volume.read_only ? " ro" : " rw");
    if (!volume.context.empty()) {
        options.push_back(selinux_mount_option(volume.context));
        mounted_as += " " + volume.context;
    }
    CO_TRY_VOID(host_.files.replace(folder + "/mounted-as", mounted_as, 0600));
    co_return co_await format_and_mount({.device = std::move(device),
                                         .target = target,
                                         .fs_type = volume.fs_type,
                                         .options = std::move(options),
                                         .read_only = volume.read_only},
                                        *host_.programs);
}

Result<void> DeviceVolumes::record(DeviceKind& kind, const std::string& folder, const DeviceVolume& volume, const std::string& uid,
                                   const std::string& target) {
    const std::string mark = folder + "/pods/" + uid;
    TRY_VOID(host_.files.create_directories(parent_path(mark), 0750));
    if (!host_.files.exists(folder + "/volume.json")) {
        const std::string was_there = folder + "/was-there";  // perhaps of a kubelet that was stopped here
        if (host_.files.exists(was_there)) TRY_VOID(host_.files.remove(was_there));
        if (is_of_node(kind, folder, volume.details)) TRY_VOID(host_.files.replace(was_there, "", 0600));
    }
    TRY_VOID(host_.files.replace(folder + "/volume.json", to_json(volume.details), 0600));
    std::string targets = host_.files.read(mark, LargestRecord).value_or("");
    if (host_.files.exists(mark) && (target.empty() || targets.contains(target + "\n"))) return {};
    if (!target.empty()) targets += target + "\n";
    return host_.files.replace(mark, targets, 0600);
}

bool DeviceVolumes::is_of_node(DeviceKind& kind, const std::string& folder, const DeviceDetails& details) {
    const std::vector<std::string> devices = kind.find(details);
    if (devices.empty()) return false;
    const std::string session = kind.session_of(details);
    return std::ranges::all_of(others_than(folder, kind), [&](const Other& other) {
        const bool brought_it =
            have_common(devices, kind.find(other.details)) || (!session.empty() && session == kind.session_of(other.details));
        return other.was_there || !brought_it;
    });
}

Result<DeviceDetails> DeviceVolumes::read_details(const std::string& folder) {
    TRY(const std::string json, host_.files.read(folder + "/volume.json", LargestRecord));
    TRY(const schema::Value tree, schema::parse_json(json));
    DeviceDetails details;
    if (!tree.is_object()) return Error(Reason::BadRequest, folder + "/volume.json is not an object");
    for (const auto& [name, value] : tree.as_object()) details[name] = std::string(value.string_or(""));
    return details;
}

Task<> DeviceVolumes::tear_down(std::string uid) {
    for (const auto& kind : kinds_) {
        const std::string all = folder_of_kind(kind->name());
        for (const std::string& name : host_.files.list(all).value_or(std::vector<std::string>())) {
            const std::string folder = all + "/" + name;
            const auto users = users_of(folder);
            if (users.empty()) (void)forget(folder);  // of a kubelet that was stopped
            if (std::ranges::find(users, uid) != users.end()) CO_TRY_VOID(co_await release(*kind, folder, uid));
        }
    }
    co_return {};
}

Task<> DeviceVolumes::release(DeviceKind& kind, std::string folder, std::string uid) {
    const std::shared_ptr<Semaphore> lock = lock_of(folder);
    CO_TRY(const auto permit, co_await lock->acquire());
    const std::string mark = folder + "/pods/" + uid;
    CO_TRY(const std::vector<std::string> targets, targets_of(mark, uid));
    const bool is_last = users_of(folder).size() <= 1;
    // A target of iSCSI that is away keeps what has to be written waiting for minutes.
    CO_TRY_VOID(co_await run_blocking<void>(host_.workers, [&]() -> Result<void> {
        for (const std::string& target : targets) TRY_VOID(host_.mounter.unmount(target));
        if (is_last) TRY_VOID(host_.mounter.unmount_idle(folder + "/mount"));
        return {};
    }));
    if (!is_last) co_return host_.files.remove(mark);
    auto details = read_details(folder);
    if (!details && !is_not_found(details)) co_return details.error();
    if (details) CO_TRY_VOID(co_await detach(kind, folder, *std::move(details)));
    co_return forget(folder);
}

std::vector<std::string> DeviceVolumes::users_of(const std::string& folder) {
    auto users = host_.files.list(folder + "/pods").value_or(std::vector<std::string>());
    std::erase_if(users, [&](const std::string& name) {
        if (!name.ends_with(".new")) return false;
        (void)host_.files.remove(folder + "/pods/" + name);
        return true;
    });
    return users;
}

Result<void> DeviceVolumes::forget(const std::string& folder) {
    const auto removed = host_.files.remove(folder + "/volume.json");
    if (!removed && !is_not_found(removed)) return removed;
    return host_.files.remove_all(folder);
}

Task<> DeviceVolumes::detach(DeviceKind& kind, std::string folder, DeviceDetails details) {
    if (!kind.check(details) || host_.files.exists(folder + "/was-there")) co_return {};
    const std::shared_ptr<Semaphore> lock = session_lock(kind, details);
    CO_TRY(const auto permit, co_await lock->acquire());
    const std::vector<std::string> devices = kind.find(details);
    std::vector<DeviceDetails> others;
    for (Other& other : others_than(folder, kind)) {
        if (have_common(devices, kind.find(other.details))) co_return {};  // the same device, written differently
        others.push_back(std::move(other.details));
    }
    co_return co_await kind.detach(std::move(details), std::move(others));
}

Result<std::vector<std::string>> DeviceVolumes::targets_of(const std::string& mark, const std::string& uid) {
    TRY(const std::string text, host_.files.read(mark, LargestRecord));
    std::vector<std::string> targets = split_nonempty(text, '\n');
    std::erase_if(targets, [&](const std::string& target) { return !target.starts_with(root_ + "/pods/" + uid + "/"); });
    return targets;
}

std::vector<DeviceVolumes::Other> DeviceVolumes::others_than(const std::string& folder, DeviceKind& kind) {
    std::vector<Other> others;
    const std::string all = folder_of_kind(kind.name());
    for (const std::string& name : host_.files.list(all).value_or(std::vector<std::string>())) {
        const std::string other = all + "/" + name;
        if (other == folder || users_of(other).empty()) continue;
        auto details = read_details(other);
        if (details && kind.check(*details)) others.push_back({*std::move(details), host_.files.exists(other + "/was-there")});
    }
    return others;
}

std::unique_ptr<DeviceVolumes> make_device_volumes(const VolumeHost& host, std::string root) {
    std::vector<std::unique_ptr<DeviceKind>> kinds;
    kinds.push_back(make_iscsi_devices(host.loop, host.files, *host.programs));
    kinds.push_back(make_fibre_channel_devices(host.loop, host.files, *host.programs));
    kinds.push_back(make_local_devices(host.files));
    return std::make_unique<DeviceVolumes>(host, std::move(kinds), std::move(root));
}

}  // namespace porthole::kubelet
