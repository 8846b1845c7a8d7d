#include "kubelet/volumes/csi/csi_volumes.h"

#include <algorithm>

#include "base/result.h"
#include "client/events.h"
#include "kubelet/pod/pod.h"
#include "kubelet/volumes/csi/csi_requests.h"
#include "kubelet/volumes/csi/csi_secrets.h"
#include "kubelet/volumes/framework/mounter.h"
#include "kubelet/volumes/selinux/selinux_contexts.h"
#include "net/grpc/grpc.h"
#include "objects/csi_volume.h"
#include "windows/support.h"

namespace porthole::kubelet {
namespace {

using api::storage::v1::CSIDriver;
using AccessMode = core::PersistentVolumeAccessMode;
using Texts = std::map<std::string, std::string>;
namespace csi = api::csi::v1;

constexpr const char* CsiProxyPipe = "\\\\.\\pipe\\csi-proxy-filesystem-v1";
constexpr std::uint32_t FolderMode = 0750;

/// `later` wins.
void merge(Texts& into, const Texts& later) {
    for (const auto& [key, value] : later) into[key] = value;
}

Task<> first_error_of(std::vector<Task<>> tasks) {
    CO_TRY(const std::vector<Result<void>> results, co_await when_all(std::move(tasks)));
    for (const Result<void>& result : results)
        if (is_cancelled(result)) co_return result;
    for (const Result<void>& result : results)
        if (!result) co_return result;
    co_return {};
}

/// As expand() tells it. What the driver refuses is not what it cannot do at all.
Error expansion_error(const Error& error) {
    const std::string message = "Expander.NodeExpand failed to expand the volume : " + error.message;
    if (!is_final_csi_error(error)) return Error(Reason::Timeout, message);
    switch (net::grpc_status_of(error)) {
        case net::GrpcStatus::FailedPrecondition:
            return Error(Reason::Conflict, message);
        case net::GrpcStatus::InvalidArgument:
        case net::GrpcStatus::OutOfRange:
        case net::GrpcStatus::NotFound:
            return Error(Reason::BadRequest, message);
        default:
            return Error(Reason::InternalError, message);
    }
}

}  // namespace

CsiVolumes::CsiVolumes(Services services)
    : services_(std::move(services)),
      paths_(services_.root, services_.is_windows()),
      attachments_(services_),
      volumes_(services_, paths_),
      scope_(services_.host.loop) {
    volumes_.load();
}

Task<> CsiVolumes::close() {
    CO_TRY_VOID(co_await scope_.close());
    co_return co_await volumes_.close();
}

Task<CsiStats> CsiVolumes::stats(std::string driver, std::string handle, std::string path, Duration limit) {
    return ask_csi_stats(services_.drivers, std::move(driver), std::move(handle), paths_.for_driver(std::move(path)), limit);
}

Error CsiVolumes::with_cause(Error error) const {
    if (error.reason == Reason::Cancelled || !services_.is_windows() || services_.has_csi_proxy()) return error;
    error.message += std::string("; csi-proxy pipe ") + CsiProxyPipe + " not found; install csi-proxy on the node";
    return error;
}

CsiVolumeData CsiVolumes::data_of(const CsiVolume& volume) const {
    return {.name = volume.name,
            .driver = volume.driver,
            .handle = volume.handle,
            .node = services_.node_name,
            .attachment = objects::attachment_name(volume.driver, volume.handle, services_.node_name),
            .is_ephemeral = volume.is_ephemeral,
            .context = volume.context};
}

Task<MountedVolume> CsiVolumes::set_up(const VolumeRequest& request, CsiVolume volume) {
    const std::string uid = request.pod->metadata.uid, user = uid + "/" + volume.name, key = key_of(volume);
    const std::string target = paths_.target_path(uid, volume);
    request.step = csi_step(volume, "MountVolume.SetUp", "MapVolume.SetUpDevice");
    CO_TRY_VOID(co_await services_.driver_objects.wait_for_sync());
    Work work{.request = request, .volume = volume};
    work.driver_object = services_.driver_objects.find({"", volume.driver});
    const CSIDriver* object = work.driver_object.get();
    CO_TRY_VOID(settle_context(request, volume));
    if (is_published(uid, volume)) {
        if (object && object->spec.requires_republish.value_or(false) && !volume.is_block)
            in_background("republish " + user, republish(request.pod, request.volume, volume));
        co_return mounted_as(uid, volume);
    }

    CO_TRY_VOID(check_lifecycle(volume, object));
    if (services_.is_windows() && volume.is_block) co_return Error(Reason::BadRequest, std::string(windows::find_rule("WIN308")->words));
    volumes_.add_user(data_of(volume), volume.is_block, user);
    if (!volume.is_ephemeral && attach_required(object)) {
        CO_TRY(work.publish_context, co_await attachments_.wait(request, volume));
    }

    const CsiNodeVolumes::Entry entry = volumes_.find(key);
    if (!entry) co_return Error(Reason::Conflict, "the pod is being removed");
    CO_TRY(work.hold, co_await hold(entry));
    if (is_published(uid, volume)) co_return mounted_as(uid, volume);  // by another volume of the pod that is the same
    const bool alone = !volume.access_modes.empty() && volume.access_modes.front() == AccessMode::ReadWriteOncePod;
    if (alone && another_pod_has(*entry, uid))
        co_return Error(Reason::Conflict, "volume uses the ReadWriteOncePod access mode and is already in use by another pod");
    const bool stages = !volume.is_ephemeral;
    if (stages) request.step = csi_step(volume, "MountVolume.MountDevice", "MapVolume.SetUpDevice");
    const auto capabilities = co_await services_.drivers.capabilities(volume.driver);
    if (!capabilities) {
        if (is_cancelled(capabilities)) co_return capabilities.error();
        const char* what = volume.is_block ? "blockMapper.SetUpDevice failed to get CSI client: "
                           : stages        ? "attacher.MountDevice failed to create newCsiDriverClient: "
                                           : "mounter.SetUpAt failed to get CSI client: ";
        co_return with_cause(Error(capabilities.error().reason, std::string("kubernetes.io/csi: ") + what + capabilities.error().message));
    }
    work.capabilities = *capabilities;
    if (volume.is_ephemeral) work.capabilities.stage = false;

    CO_TRY(const bool known, co_await run_blocking<bool>(services_.host.workers, [&] { return record_user(uid, volume); }));
    auto done = co_await stage(work, *entry);
    if (done) done = co_await publish(work);
    if (!done) {
        // Nothing is published that had to be taken down: the pod can end without the driver.
        if (!known && !volume.is_block && is_final_csi_error(done.error()))
            (void)remove_csi_folder(services_.host.files, parent_path(target), target);
        co_return with_cause(std::move(done).error());
    }
    CO_TRY_VOID(co_await apply_group(work, target, !volume.is_ephemeral));
    published_.insert(user);
    co_return mounted_as(uid, volume);
}

bool CsiVolumes::another_pod_has(const CsiNodeVolume& entry, const std::string& uid) const {
    return std::ranges::any_of(entry.users, [&](const std::string& user) {
        const std::string other = user.substr(0, user.find('/'));
        return other != uid && services_.host.files.exists(paths_.pod_record(other, entry.data.name, entry.is_block));
    });
}

Task<bool> CsiVolumes::takes_context(std::string driver) {
    CO_TRY_VOID(co_await services_.driver_objects.wait_for_sync());
    const auto object = services_.driver_objects.find({"", driver});
    co_return object && object->spec.se_linux_mount.value_or(false);
}

/// A pod that has the volume keeps it as it is, also if its label would be another one now.
Result<void> CsiVolumes::settle_context(const VolumeRequest& request, CsiVolume& volume) {
    if (const auto entry = volumes_.find(key_of(volume)); entry && entry->data.context != volume.context) {
        if (!entry->users.contains(request.pod->metadata.uid + "/" + volume.name)) {
            request.step.text = "Unable to attach or mount volumes: unmounted volumes=[" + request.volume.name +
                                "], unattached volumes=[], failed to process volumes=[]: ";
            return other_selinux_context(objects::unique_volume_name(volume.driver, volume.handle));
        }
        volume.context = entry->data.context;
    }
    if (!volume.context.empty()) volume.mount_options.push_back(selinux_mount_option(volume.context));
    return {};
}

Result<MountedVolume> CsiVolumes::mounted_as(const std::string& uid, const CsiVolume& volume) const {
    MountedVolume mounted{.path = paths_.target_path(uid, volume), .read_only = volume.read_only, .is_block = volume.is_block};
    mounted.csi_driver = volume.driver;
    mounted.csi_handle = volume.handle;
    if (!services_.host.selinux || volume.read_only || volume.is_block || !volume.context.empty()) return mounted;
    TRY(mounted.relabel, services_.host.selinux->labels_files(mounted.path));
    return mounted;
}

Result<bool> CsiVolumes::record_user(const std::string& uid, const CsiVolume& volume) const {
    const std::string folder = paths_.pod_folder(uid, volume.is_block), own = folder + "/" + volume.name;
    const std::string data_folder = volume.is_block ? paths_.device_data(volume.name) : own, target = paths_.target_path(uid, volume);
    const bool known = services_.host.files.exists(paths_.pod_record(uid, volume.name, volume.is_block));
    TRY_VOID(services_.host.files.create_directories(data_folder, FolderMode));
    TRY_VOID(write_csi_volume_data(services_.host.files, data_folder, data_of(volume)));
    if (!volume.is_block) return known;
    TRY_VOID(services_.host.files.create_directories(folder, FolderMode));
    TRY_VOID(services_.host.files.create_directories(parent_path(target), FolderMode));
    if (!known) TRY_VOID(services_.host.files.create_symlink(target, own));
    return known;
}

Task<std::shared_ptr<const CsiVolumes::Hold>> CsiVolumes::hold(CsiNodeVolumes::Entry entry) {
    CO_TRY(auto permit, co_await entry->lock.acquire());
    co_return std::make_shared<const Hold>(Hold{std::move(entry), std::move(permit)});
}

template <class Method>
Task<> CsiVolumes::change(const Work& work, const Method& method, typename Method::Request request) {
    const auto done = std::make_shared<Promise<void>>();
    scope_.spawn([](CsiDrivers& drivers, std::string driver, std::shared_ptr<const Hold>, const Method& method,
                    typename Method::Request request, std::shared_ptr<Promise<void>> done) -> Task<> {
        const auto answer = co_await drivers.call(driver, method, std::move(request));
        done->set(answer ? Result<void>() : Result<void>(answer.error()));
        co_return {};
    }(services_.drivers, work.volume.driver, work.hold, method, std::move(request), done));
    co_return co_await done->wait();
}

/// `once`: a kubelet before this one may have done it.
Task<> CsiVolumes::apply_group(const Work& work, const std::string& path, bool once) {
    if (!takes_fs_group(work.volume, work.driver_object.get(), work.capabilities)) co_return {};
    if (once && work.request.is_ready(services_.host.files)) co_return {};
    auto applied = co_await apply_fs_group(path, work.request.pod, services_.host);
    if (is_cancelled(applied)) co_return applied;
    if (!applied)
        co_return Error(applied.error().reason, "applyFSGroup failed for vol " + work.volume.handle + ": " + applied.error().message);
    co_return once ? work.request.set_ready(services_.host.files) : Result<void>();
}

void CsiVolumes::in_background(std::string what, Task<> task) {
    if (background_.insert(what).second) scope_.spawn(run_in_background(std::move(what), std::move(task)));
}

Task<> CsiVolumes::run_in_background(std::string what, Task<> task) {
    auto done = co_await std::move(task);
    background_.erase(what);
    co_return done;
}

/// The pod keeps what it has, whatever comes of it.
Task<> CsiVolumes::republish(std::shared_ptr<const core::Pod> pod, core::Volume of_pod, CsiVolume volume) {
    VolumeStep step{"FailedMount", failed_csi_step("MountVolume.SetUp", volume.name)};
    const VolumeRequest request{.pod = pod, .volume = std::move(of_pod), .step = step};
    const auto done = co_await publish_again(request, volume);
    if (!done && !is_cancelled(done)) services_.api.events.warning(reference_to(*pod), step.reason, step.text + done.error().message);
    co_return done;
}

Task<> CsiVolumes::publish_again(const VolumeRequest& request, const CsiVolume& volume) {
    Work work{.request = request, .volume = volume};
    work.driver_object = services_.driver_objects.find({"", volume.driver});
    const CsiNodeVolumes::Entry entry = volumes_.find(key_of(volume));
    if (!entry) co_return {};
    CO_TRY(work.hold, co_await hold(entry));
    if (!is_published(request.pod->metadata.uid, volume)) co_return {};  // taken down meanwhile
    if (volumes_.is_attached(*entry)) {
        CO_TRY(work.publish_context, co_await attachments_.read(volume));
    }
    CO_TRY(work.capabilities, co_await services_.drivers.capabilities(volume.driver));
    if (volume.is_ephemeral) work.capabilities.stage = false;
    CO_TRY_VOID(co_await publish(work));
    co_return co_await apply_group(work, paths_.target_path(request.pod->metadata.uid, volume), false);
}

Task<> CsiVolumes::stage(const Work& work, CsiNodeVolume& entry) {
    const CsiVolume& volume = work.volume;
    if (!work.capabilities.stage || entry.is_staged) co_return {};
    work.request.step = csi_step(volume, "MountVolume.MountDevice", "MapVolume.SetUpDevice");
    csi::NodeStageVolumeRequest request;
    request.volume_id = volume.handle;
    request.publish_context = work.publish_context;
    request.staging_target_path = paths_.for_driver(paths_.staging_path(volume));
    request.volume_capability = capability_of(volume, work.capabilities, work.request.fs_group());
    CO_TRY(request.secrets, co_await csi_secret(volume.stage_secret, "NodeStageSecretRef", services_.api));
    request.volume_context = volume.attributes;
    const std::string path = paths_.staging_path(volume), folder = parent_path(path);
    bool known = false;
    // A kubelet before this one may have had it staged, from a server that is away now.
    CO_TRY_VOID(co_await run_blocking<void>(services_.host.workers, [&]() -> Result<void> {
        TRY_VOID(services_.host.files.create_directories(folder, FolderMode));
        if (!volume.is_block) TRY_VOID(write_csi_volume_data(services_.host.files, folder, data_of(volume)));
        const auto there = services_.host.files.link_status(path);
        known = !is_not_found(there);
        // A driver's link is its own to renew, and so is a mount that has lost its device or server. A link is not followed.
        if (known && (!there || there->type == FileType::Symlink)) return {};
        return services_.host.files.create_directories(path, FolderMode);
    }));
    auto staged = co_await change(work, csi::Node::NodeStageVolume, std::move(request));
    if (!staged) {
        if (!known && is_final_csi_error(staged.error()))
            (void)(volume.is_block ? remove_empty(services_.host.files, path) : remove_csi_folder(services_.host.files, folder, path));
        co_return std::move(staged).error();
    }
    entry.is_staged = true;
    co_return {};
}

Task<> CsiVolumes::publish(const Work& work) {
    const CsiVolume& volume = work.volume;
    const core::Pod& pod = *work.request.pod;
    work.request.step = csi_step(volume, "MountVolume.SetUp", "MapVolume.MapPodDevice");
    csi::NodePublishVolumeRequest request;
    request.volume_id = volume.handle;
    request.publish_context = work.publish_context;
    if (work.capabilities.stage) request.staging_target_path = paths_.for_driver(paths_.staging_path(volume));
    request.target_path = paths_.for_driver(paths_.target_path(pod.metadata.uid, volume));
    request.volume_capability = capability_of(volume, work.capabilities, work.request.fs_group());
    request.readonly = volume.read_only;
    CO_TRY(request.secrets, co_await csi_secret(volume.publish_secret, "NodePublishSecretRef", services_.api));
    request.volume_context = volume.attributes;
    if (const CSIDriver* driver = work.driver_object.get()) {
        if (driver->spec.pod_info_on_mount.value_or(false)) merge(request.volume_context, pod_info(pod, volume.is_ephemeral));
        if (!volume.is_block) {
            CO_TRY(const Texts given, co_await csi_tokens(work.request.pod, work.driver_object, services_.api));
            merge(driver->spec.service_account_token_in_secrets.value_or(false) ? request.secrets : request.volume_context, given);
        }
    }
    co_return co_await change(work, csi::Node::NodePublishVolume, std::move(request));
}

bool CsiVolumes::has_size(const CsiVolume& volume, Quantity size) {
    const CsiNodeVolumes::Entry entry = volumes_.find(key_of(volume));
    if (!entry) return true;  // it has been taken down
    if (!entry->size) entry->size = size;
    return !(*entry->size < size);
}

Task<> CsiVolumes::expand(CsiVolume volume, std::string path, Quantity size, bool is_outdated) {
    const CsiNodeVolumes::Entry entry = volumes_.find(key_of(volume));
    const Error gone(Reason::Unavailable, "the volume has been taken down");  // says nothing of the claim's growth
    if (!entry) co_return gone;
    CO_TRY(const auto permit, co_await entry->lock.acquire());
    if (volumes_.find(key_of(volume)) != entry) co_return gone;
    if (entry->grows_unused) co_return Error(Reason::Conflict, "the driver does not enlarge the volume while it is in use");
    CO_TRY(const CsiCapabilities capabilities, co_await services_.drivers.capabilities(volume.driver));
    if (!capabilities.expand) {
        entry->size = size;
        co_return Error(Reason::MethodNotAllowed, "NodeExpand is not supported by the CSI driver " + volume.driver);
    }
    csi::NodeExpandVolumeRequest request;
    request.volume_id = volume.handle;
    request.volume_path = paths_.for_driver(std::move(path));
    request.capacity_range.emplace().required_bytes = size.value();
    if (capabilities.stage) request.staging_target_path = paths_.for_driver(paths_.staging_path(volume));
    request.volume_capability = capability_of(volume, capabilities, std::nullopt);
    CO_TRY(request.secrets, co_await csi_secret(volume.expand_secret, "NodeExpandSecretRef", services_.api));
    auto expanded = co_await services_.drivers.call(volume.driver, csi::Node::NodeExpandVolume, std::move(request));
    if (expanded) {
        entry->size = size;
        co_return {};
    }
    if (is_cancelled(expanded)) co_return expanded.error();
    auto error = expansion_error(expanded.error());
    entry->grows_unused = error.reason == Reason::Conflict;
    if (is_outdated && entry->failed_to_grow && error.reason == Reason::InternalError) error.reason = Reason::BadRequest;
    entry->failed_to_grow |= error.reason == Reason::InternalError;
    co_return error;
}

Task<> CsiVolumes::tear_down(std::string uid) {
    std::vector<Task<>> tasks;
    for (const std::string& name : services_.host.files.list(paths_.pod_folder(uid, false)).value_or(std::vector<std::string>()))
        tasks.push_back(tear_down_mount(uid, name));
    for (const std::string& name : services_.host.files.list(paths_.pod_folder(uid, true)).value_or(std::vector<std::string>()))
        tasks.push_back(tear_down_device(uid, name));
    CO_TRY_VOID(co_await first_error_of(std::move(tasks)));
    volumes_.remove_users_of_pod(uid);
    co_return {};
}

Task<> CsiVolumes::tear_down_mount(std::string uid, std::string name) {
    const std::string folder = paths_.pod_folder(uid, false) + "/" + name, target = folder + "/mount", user = uid + "/" + name;
    const auto data = read_csi_volume_data(services_.host.files, folder);
    if (is_not_found(data)) co_return {};
    if (!data) co_return data.error();
    const std::string key = CsiNodeVolumes::key_of(*data, false);
    const CsiNodeVolumes::Entry entry = volumes_.add_user(*data, false, user);
    CO_TRY(const auto permit, co_await entry->lock.acquire());
    published_.erase(user);
    CO_TRY_VOID(co_await unpublish(*data, target,
                                   failed_csi_step("UnmountVolume.TearDown", name) + "kubernetes.io/csi: Unmounter.TearDownAt failed"));
    CO_TRY_VOID(remove_csi_folder(services_.host.files, folder, target));
    volumes_.remove_user(key, user);
    co_return {};
}

Task<> CsiVolumes::tear_down_device(std::string uid, std::string name) {
    const std::string link = paths_.pod_folder(uid, true) + "/" + name, user = uid + "/" + name;
    const std::string target = paths_.device_folder("publish", name) + "/" + uid;
    const auto data = read_csi_volume_data(services_.host.files, paths_.device_data(name));
    if (is_not_found(data)) {  // what is still mounted is not removed
        CO_TRY_VOID(remove_empty(services_.host.files, target));
        co_return remove_empty(services_.host.files, link);
    }
    if (!data) co_return data.error();
    const std::string key = CsiNodeVolumes::key_of(*data, true);
    const CsiNodeVolumes::Entry entry = volumes_.add_user(*data, true, user);
    CO_TRY(const auto permit, co_await entry->lock.acquire());
    published_.erase(user);
    CO_TRY_VOID(co_await unpublish(
        *data, target,
        failed_csi_step("UnmapVolume.UnmapPodDevice", name) + "kubernetes.io/csi: blockMapper.unpublishVolumeForBlock failed"));
    CO_TRY_VOID(remove_empty(services_.host.files, target));
    CO_TRY_VOID(remove_empty(services_.host.files, link));
    volumes_.remove_user(key, user);
    co_return {};
}

Task<> CsiVolumes::unpublish(CsiVolumeData data, std::string target, std::string failure) {
    csi::NodeUnpublishVolumeRequest request;
    request.volume_id = data.handle;
    request.target_path = paths_.for_driver(target);
    auto unpublished = co_await services_.drivers.call(data.driver, csi::Node::NodeUnpublishVolume, std::move(request));
    if (is_cancelled(unpublished)) co_return std::move(unpublished).error();
    if (!unpublished) co_return std::move(unpublished).error().with_context(failure);
    // Drivers that do not clean up after themselves leave the mount.
    co_return co_await run_blocking<void>(services_.host.workers, [&] { return services_.host.mounter.unmount(target); });
}

}  // namespace porthole::kubelet
