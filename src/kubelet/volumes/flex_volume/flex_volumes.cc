#include "kubelet/volumes/flex_volume/flex_volumes.h"

#include <algorithm>

#include "base/base64.h"
#include "base/strings.h"
#include "kubelet/volumes/block_devices/file_systems.h"
#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/selinux/selinux_contexts.h"
#include "net/tls/crypto.h"
#include "runtime/worker_pool.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using schema::Value;

constexpr std::size_t LargestRecord = 64 << 10;
constexpr const char* RecordFile = "/volume.json";

/// Of PersistentVolumes, which are API objects' names already, and of volumes of pods: two pods may call different ones the same.
std::string device_name(const FlexVolume& volume) {
    Value all = Value::object({{"fsType", volume.fs_type}});
    for (const auto& [name, value] : volume.options) all["o:" + name] = value;
    return volume.name + "-" + net::sha256_hex(schema::to_json(all)).substr(0, 16);
}

}  // namespace

FlexVolume flex_volume_of(const core::FlexVolumeSource& source, const std::string& name) {
    FlexVolume volume{
        .driver = source.driver, .name = name, .fs_type = source.fs_type, .options = source.options, .read_only = source.read_only};
    volume.device = device_name(volume);
    return volume;
}

FlexVolume flex_volume_of(const core::PersistentVolume& volume, bool read_only) {
    const core::FlexPersistentVolumeSource& source = *volume.spec.flex_volume;
    const std::string& name = volume.metadata.name;
    return {.driver = source.driver,
            .name = name,
            .device = name,
            .fs_type = source.fs_type,
            .options = source.options,
            .read_only = read_only || source.read_only};
}

std::string FlexVolumes::folder_of(const std::string& driver, const std::string& device) const {
    return settings_.root + "/plugins/kubernetes.io/flexvolume/" + flex_folder_name(driver) + "/" + device;
}

/// Upstream's, which drivers may take apart.
std::string FlexVolumes::target_of(const std::string& uid, const FlexVolume& volume) const {
    return settings_.root + "/pods/" + uid + "/volumes/" + flex_folder_name(volume.driver) + "/" + volume.name;
}

/// As Windows writes it, there.
std::string FlexVolumes::native(std::string path) const {
    if (!host_.windows) return path;
    std::ranges::replace(path, '/', '\\');
    return path.starts_with('\\') ? "C:" + path : path;
}

std::shared_ptr<Semaphore> FlexVolumes::lock_of(const std::string& folder) {
    std::erase_if(locks_, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<Semaphore> lock = locks_[folder].lock();
    if (!lock) locks_[folder] = lock = std::make_shared<Semaphore>(1);
    return lock;
}

/// Windows has links where Linux has mounts.
Result<bool> FlexVolumes::is_there(const std::string& target) {
    if (host_.windows) {
        const auto status = host_.files.link_status(target);
        if (!status && !is_not_found(status)) return status.error();
        return status && status->type == FileType::Symlink;
    }
    TRY(const auto mounts, host_.mounter.mounts_below(target));
    return std::ranges::find(mounts, target) != mounts.end();
}

Result<void> FlexVolumes::write(const std::string& path, const Record& record) {
    TRY_VOID(host_.files.create_directories(parent_path(path), 0750));
    const Value tree =
        Value::object({{"driver", record.driver}, {"name", record.name}, {"target", record.target}, {"device", record.device}});
    return host_.files.replace(path, schema::to_json(tree), 0600);
}

Result<FlexVolumes::Record> FlexVolumes::read(const std::string& path) {
    TRY(const std::string json, host_.files.read(path, LargestRecord));
    TRY(const Value tree, schema::parse_json(json));
    const auto text = [&](const char* key) { return std::string(schema::at(tree, key).string_or("")); };
    return Record{.driver = text("driver"), .name = text("name"), .target = text("target"), .device = text("device")};
}

/// `pod`: null for commands about the device, which get nothing of one pod.
std::string FlexVolumes::options_for(const core::Pod* pod, const FlexVolume& volume, bool gives_group) const {
    Value all = Value::object({{"kubernetes.io/fsType", volume.fs_type},
                               {"kubernetes.io/readwrite", volume.read_only ? "ro" : "rw"},
                               {"kubernetes.io/pvOrVolumeName", volume.name}});
    if (pod) {
        all["kubernetes.io/pod.name"] = pod->metadata.name;
        all["kubernetes.io/pod.namespace"] = pod->metadata.namespace_;
        all["kubernetes.io/pod.uid"] = pod->metadata.uid;
        all["kubernetes.io/serviceAccount.name"] = pod->spec.service_account_name;
        const auto& security = pod->spec.security_context;
        if (gives_group && security && security->fs_group) all["kubernetes.io/mounterArgs.FsGroup"] = std::to_string(*security->fs_group);
        for (const auto& [name, value] : volume.secrets) all["kubernetes.io/secret/" + name] = encode_base64(value);
    }
    for (const auto& [name, value] : volume.options)
        if (!all.as_object().contains(name)) all[name] = value;
    return schema::to_json(all);
}

Task<MountedVolume> FlexVolumes::set_up(const VolumeRequest& request, FlexVolume volume, client::NamespacedName secret) {
    const std::string target = target_of(request.pod->metadata.uid, volume);
    MountedVolume mounted{.path = target, .read_only = volume.read_only, .is_remote = true};
    CO_TRY_VOID(co_await set_up_at(target, request, std::move(volume), std::move(secret)));
    if (host_.selinux && !mounted.read_only) {
        CO_TRY(mounted.relabel, host_.selinux->labels_files(target));
    }
    co_return mounted;
}

Task<> FlexVolumes::set_up_at(std::string target, const VolumeRequest& request, FlexVolume volume, client::NamespacedName secret) {
    const std::string uid = request.pod->metadata.uid;
    const bool is_ready = request.is_ready(host_.files);
    if (is_ready && done_.contains(request.ready_mark)) co_return {};
    CO_TRY(const bool there, is_there(target));
    if (is_ready && there) co_return {};
    std::optional<FlexDriver> driver;
    CO_TRY(const FlexAnswer made, co_await find(request, volume, driver));
    if (!secret.name.empty()) {
        CO_TRY(const auto found, co_await client_.get<core::Secret>(secret));
        if (found.type != volume.driver) co_return Error(Reason::Forbidden, "cannot get secret of type " + found.type);
        volume.secrets = found.data;
    }
    const std::string folder = made.attach ? folder_of(volume.driver, volume.device) : "";
    CO_TRY_VOID(write(records_of(uid) + "/" + request.volume.name + RecordFile,
                      {.driver = volume.driver, .name = volume.name, .target = target, .device = made.attach ? volume.device : ""}));
    std::shared_ptr<Semaphore> lock = lock_of(made.attach ? folder : target);
    CO_TRY(const auto permit, co_await lock->acquire());
    if (made.attach) CO_TRY_VOID(co_await attach(request, *driver, volume, folder));
    request.step = {"FailedMount", "MountVolume.SetUp failed for volume \"" + volume.name + "\" : "};
    CO_TRY_VOID(co_await mount(request, *driver, volume, made.gives_group, folder));
    if (made.gives_group && !volume.read_only && !is_ready) CO_TRY_VOID(co_await apply_fs_group(target, request.pod, host_));
    CO_TRY_VOID(request.set_ready(host_.files));
    done_.insert(request.ready_mark);
    co_return {};
}

/// The driver and what it says of itself. One that does not answer is none, as for upstream.
Task<FlexAnswer> FlexVolumes::find(const VolumeRequest& request, const FlexVolume& volume, std::optional<FlexDriver>& driver) {
    request.step.text = "Unable to attach or mount volumes: unmounted volumes=[" + request.volume.name +
                        "], unattached volumes=[], failed to process volumes=[" + request.volume.name + "]: ";
    const std::string none = "failed to get Plugin from volumeSpec for volume \"" + volume.name + "\" err=no volume plugin matched";
    auto found = FlexDriver::find(settings_.directory, volume.driver, host_.windows, host_.files);
    if (!found) co_return std::move(found).error().with_context(none);
    driver = *std::move(found);
    auto answer = co_await driver->call({"init"}, *host_.programs);
    if (answer && !answer->supported) answer = Error(Reason::BadRequest, "the driver does not support init");
    if (answer || is_cancelled(answer)) co_return answer;
    co_return std::move(answer).error().with_context(none);
}

Task<> FlexVolumes::attach(const VolumeRequest& request, const FlexDriver& driver, const FlexVolume& volume, std::string folder) {
    const std::string target = folder + "/mount", options = options_for(nullptr, volume, false);
    CO_TRY_VOID(write(folder + RecordFile, {.driver = volume.driver, .name = volume.name, .target = target, .device = volume.device}));
    CO_TRY_VOID(host_.files.create_directories(folder + "/pods", 0750));
    CO_TRY_VOID(host_.files.write(folder + "/pods/" + request.pod->metadata.uid, "", 0600));
    CO_TRY(const bool there, is_there(target));
    if (there) co_return {};
    const std::string of_volume = " failed for volume \"" + volume.name + "\" : ";
    request.step = {"FailedAttachVolume", "AttachVolume.Attach" + of_volume};
    CO_TRY(const FlexAnswer attached, co_await driver.call({"attach", options, settings_.node_name}, *host_.programs));
    request.step = {"FailedMount", "MountVolume.WaitForAttach" + of_volume};
    CO_TRY(const FlexAnswer waited, co_await driver.call({"waitforattach", attached.device, options}, *host_.programs));
    const std::string device = waited.supported ? waited.device : attached.device;
    request.step = {"FailedMount", "MountVolume.MountDevice" + of_volume};
    CO_TRY_VOID(host_.files.create_directories(target, 0750));
    CO_TRY(const FlexAnswer mounted, co_await driver.call({"mountdevice", native(target), device, options}, *host_.programs));
    if (mounted.supported || device.empty() || host_.windows) co_return {};
    const std::string type = volume.fs_type.empty() ? "ext4" : volume.fs_type;
    if (!is_file_system_name(type)) co_return Error(Reason::BadRequest, "\"" + type + "\" is not a file system");
    co_return co_await format_and_mount({.device = device, .target = target, .fs_type = type, .read_only = volume.read_only},
                                        *host_.programs);
}

/// Without the command, what is mounted of the device is shown.
Task<> FlexVolumes::mount(const VolumeRequest& request, const FlexDriver& driver, const FlexVolume& volume, bool gives_group,
                          std::string folder) {
    const std::string target = target_of(request.pod->metadata.uid, volume);
    CO_TRY(const bool there, is_there(target));
    if (there) co_return {};
    CO_TRY_VOID(host_.files.create_directories(target, 0750));
    const auto answer =
        co_await driver.call({"mount", native(target), options_for(request.pod.get(), volume, gives_group)}, *host_.programs);
    if (is_cancelled(answer)) co_return answer.error();
    if (!answer) {
        if (!host_.windows) CO_TRY_VOID(co_await unmount(target));
        co_return answer.error();
    }
    if (answer->supported) co_return {};
    if (folder.empty() || host_.windows) co_return Error(Reason::BadRequest, "the driver does not support mount");
    CO_TRY_VOID(host_.mounter.bind_beneath(folder, "mount", target));
    co_return {};
}

Task<> FlexVolumes::unmount(std::string target) {
    co_return co_await run_blocking<void>(host_.workers, [&mounter = host_.mounter, target] { return mounter.unmount(target); });
}

Task<> FlexVolumes::tear_down(std::string uid) {
    const std::string records = records_of(uid);
    std::erase_if(done_, [&](const std::string& mark) { return mark.starts_with(settings_.root + "/pods/" + uid + "/"); });
    for (const std::string& name : host_.files.list(records).value_or(std::vector<std::string>()))
        CO_TRY_VOID(co_await release(uid, records + "/" + name));
    co_return {};
}

/// A driver that is gone cannot unmount, but the kernel can; only it can detach.
Task<> FlexVolumes::release(std::string uid, std::string record_folder) {
    const auto record = read(record_folder + RecordFile);
    if (is_not_found(record)) co_return {};
    if (!record) co_return record.error();
    if (!record->target.starts_with(settings_.root + "/pods/" + uid + "/volumes/"))
        co_return Error(Reason::Io, record_folder + RecordFile + " is not valid");
    auto driver = FlexDriver::find(settings_.directory, record->driver, host_.windows, host_.files);
    const std::shared_ptr<Semaphore> lock = lock_of(record->device.empty() ? record->target : folder_of(record->driver, record->device));
    CO_TRY(const auto permit, co_await lock->acquire());
    CO_TRY(const bool there, is_there(record->target));
    if (there && driver) {
        CO_TRY(const FlexAnswer answer, co_await driver->call({"unmount", native(record->target)}, *host_.programs));
        if (!answer.supported && host_.windows) co_return Error(Reason::BadRequest, "the driver does not support unmount");
    }
    if (!host_.windows) CO_TRY_VOID(co_await unmount(record->target));
    if (!record->device.empty()) CO_TRY_VOID(co_await release_device(uid, *record, driver ? &*driver : nullptr));
    co_return host_.files.remove(record_folder + RecordFile);
}

Task<> FlexVolumes::release_device(std::string uid, const Record& record, const FlexDriver* driver) {
    const std::string folder = folder_of(record.driver, record.device), mark = folder + "/pods/" + uid, target = folder + "/mount";
    const auto users = host_.files.list(folder + "/pods").value_or(std::vector<std::string>());
    if (std::ranges::find(users, uid) == users.end()) co_return {};
    if (users.size() > 1) co_return host_.files.remove(mark);
    CO_TRY(const bool there, is_there(target));
    if (!driver)
        co_return Error(Reason::NotFound,
                        "volume \"" + record.name + "\" cannot be detached: its FlexVolume driver " + record.driver + " is gone");
    if (there) CO_TRY_VOID(co_await driver->call({"unmountdevice", native(target)}, *host_.programs));
    if (!host_.windows) CO_TRY_VOID(host_.mounter.unmount_idle(target));
    CO_TRY_VOID(co_await driver->call({"detach", record.name, settings_.node_name}, *host_.programs));
    CO_TRY(const auto mounts, host_.mounter.mounts_below(folder));
    if (!mounts.empty()) co_return Error(Reason::Io, folder + " is still mounted");
    co_return host_.files.remove_all(folder);
}

}  // namespace porthole::kubelet
