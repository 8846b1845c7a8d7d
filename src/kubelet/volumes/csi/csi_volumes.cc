#include "kubelet/volumes/csi/csi_volumes.h"

#include <algorithm>

#include "base/result.h"
#include "kubelet/volumes/csi/csi_requests.h"
#include "kubelet/volumes/framework/attach_limit.h"
#include "net/grpc/grpc.h"
#include "net/tls/crypto.h"
#include "objects/csi_volume.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using api::storage::v1::CSIDriver;
using api::storage::v1::VolumeAttachment;
using schema::Value;
using AccessMode = core::PersistentVolumeAccessMode;
using Texts = std::map<std::string, std::string>;
namespace csi = api::csi::v1;

constexpr Duration FirstPause = 100ms, LongestPause = 2s;
constexpr std::int64_t TokenSeconds = 3600;  // where the driver's object does not say
constexpr const char* PluginDirectory = "kubernetes.io~csi";
constexpr const char* CsiProxyPipe = "\\\\.\\pipe\\csi-proxy-filesystem-v1";
constexpr std::uint32_t FolderMode = 0750, DataMode = 0600;

/// Devices are staged by the volume's name, mounts by its handle.
std::string key_of(const std::string& driver, const std::string& handle, const std::string& name, bool is_block) {
    return is_block ? "device/" + name : objects::unique_volume_name(driver, handle);
}
std::string key_of(const CsiVolume& volume) { return key_of(volume.driver, volume.handle, volume.name, volume.is_block); }
std::string key_of(const CsiVolumeData& data, bool is_block) { return key_of(data.driver, data.handle, data.name, is_block); }

std::string failed(const char* step, const std::string& volume) { return std::string(step) + " failed for volume \"" + volume + "\" : "; }

VolumeStep step_of(const CsiVolume& volume, const char* mount_step, const char* map_step) {
    return volume.is_block ? VolumeStep{"FailedMapVolume", failed(map_step, volume.name)}
                           : VolumeStep{"FailedMount", failed(mount_step, volume.name)};
}

bool shows_in_use(const core::Node& node, const std::string& name) {
    return std::ranges::find(node.status.volumes_in_use, name) != node.status.volumes_in_use.end();
}
bool shows_attached(const core::Node& node, const std::string& name) {
    return std::ranges::find(node.status.volumes_attached, name, &core::AttachedVolume::name) != node.status.volumes_attached.end();
}

bool attach_required(const CSIDriver* driver) { return !driver || driver->spec.attach_required.value_or(true); }

/// `later` wins.
void merge(Texts& into, const Texts& later) {
    for (const auto& [key, value] : later) into[key] = value;
}

/// An empty directory, or a file: whatever holds data stays, and is an error.
Result<void> remove_empty(FileSystem& files, const std::string& path) {
    auto removed = files.remove(path);
    return is_not_found(removed) ? Result<void>() : removed;
}

/// A folder that holds a target and a data file.
Result<void> remove_folder(FileSystem& files, const std::string& folder, const std::string& target) {
    TRY_VOID(remove_empty(files, target));
    TRY_VOID(remove_empty(files, folder + "/" + CsiVolumeData::FileName));
    return remove_empty(files, folder);
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

std::uint64_t positive(std::int64_t value) { return value < 0 ? 0 : static_cast<std::uint64_t>(value); }

}  // namespace

CsiVolumes::CsiVolumes(Services services) : services_(std::move(services)), scope_(services_.loop) { load(); }

/// Whoever made the files: those of a pod that is gone are found by tear_down().
void CsiVolumes::load() {
    FileSystem& files = services_.files;
    const auto names_in = [&](const std::string& folder) { return files.list(folder).value_or(std::vector<std::string>()); };
    for (const std::string& uid : names_in(services_.root + "/pods")) {
        for (const bool is_block : {false, true}) {
            const std::string folder = pod_folder(uid, is_block);
            for (const std::string& name : names_in(folder)) {
                const auto data = read_csi_volume_data(files, is_block ? device_folder("", name) + "/data" : folder + "/" + name);
                if (data)
                    add_holder(*data, is_block, uid + "/" + name);
                else if (!is_not_found(data))
                    services_.log.warn("a volume of an earlier kubelet is not known", {{"error", data.error().message}});
            }
        }
    }
}

void CsiVolumes::add_user(const std::string& key, const std::string& driver, const std::string& in_use_name, const std::string& user) {
    std::shared_ptr<Entry>& entry = volumes_[key];
    if (!entry) entry = std::make_shared<Entry>();
    entry->driver = driver;
    entry->in_use_name = in_use_name;
    entry->users.insert(user);
}

std::shared_ptr<CsiVolumes::Entry> CsiVolumes::add_holder(const CsiVolumeData& data, bool is_block, const std::string& user) {
    const std::string key = key_of(data, is_block);
    add_user(key, data.driver, data.is_ephemeral ? "" : objects::unique_volume_name(data.driver, data.handle), user);
    std::shared_ptr<Entry> entry = find(key);
    entry->holders.insert(user);
    return entry;
}

void CsiVolumes::remove_user(const std::string& key, const std::string& user) {
    const auto found = volumes_.find(key);
    if (found == volumes_.end() || !found->second->users.erase(user) || !found->second->users.empty()) return;
    const bool told = !found->second->in_use_name.empty();
    found->second->holders.clear();
    volumes_.erase(found);
    if (told) services_.report_node();
}

std::shared_ptr<CsiVolumes::Entry> CsiVolumes::find(const std::string& key) const {
    const auto found = volumes_.find(key);
    return found == volumes_.end() ? nullptr : found->second;
}

bool CsiVolumes::is_attached(const Entry& entry) const {
    return !entry.in_use_name.empty() && attach_required(services_.driver_objects.find({"", entry.driver}).get());
}

std::vector<std::string> CsiVolumes::volumes_in_use() const {
    std::set<std::string> names;
    for (const auto& [key, entry] : volumes_)
        if (is_attached(*entry)) names.insert(entry->in_use_name);
    return {names.begin(), names.end()};
}

std::string CsiVolumes::for_driver(std::string path) const {
    if (!is_windows()) return path;
    std::ranges::replace(path, '/', '\\');
    return path.starts_with('\\') ? "C:" + path : path;
}

Error CsiVolumes::with_cause(Error error) const {
    if (error.reason == Reason::Cancelled || !is_windows() || services_.has_csi_proxy()) return error;
    error.message += std::string("; csi-proxy pipe ") + CsiProxyPipe + " not found; install csi-proxy on the node";
    return error;
}

std::string CsiVolumes::pod_folder(const std::string& uid, bool is_block) const {
    return services_.root + "/pods/" + uid + (is_block ? "/volumeDevices/" : "/volumes/") + PluginDirectory;
}
std::string CsiVolumes::global_folder(const std::string& driver, const std::string& handle) const {
    return services_.root + "/plugins/kubernetes.io/csi/" + driver + "/" + net::sha256_hex(handle);
}
std::string CsiVolumes::device_folder(const char* kind, const std::string& name) const {
    return services_.root + "/plugins/kubernetes.io/csi/volumeDevices/" + kind + (*kind ? "/" : "") + name;
}
std::string CsiVolumes::staging_path(const CsiVolume& volume) const {
    return volume.is_block ? device_folder("staging", volume.name) : global_folder(volume.driver, volume.handle) + "/globalmount";
}
std::string CsiVolumes::target_path(const std::string& uid, const CsiVolume& volume) const {
    return volume.is_block ? device_folder("publish", volume.name) + "/" + uid : pod_folder(uid, false) + "/" + volume.name + "/mount";
}

CsiVolumeData CsiVolumes::data_of(const CsiVolume& volume) const {
    return {.name = volume.name,
            .driver = volume.driver,
            .handle = volume.handle,
            .node = services_.node_name,
            .attachment = objects::attachment_name(volume.driver, volume.handle, services_.node_name),
            .is_ephemeral = volume.is_ephemeral};
}

Task<MountedVolume> CsiVolumes::set_up(const VolumeRequest& request, CsiVolume volume, VolumeServices& services) {
    const std::string uid = request.pod->metadata.uid, user = uid + "/" + volume.name, key = key_of(volume);
    request.step = step_of(volume, "MountVolume.SetUp", "MapVolume.SetUpDevice");
    CO_TRY_VOID(co_await services_.driver_objects.wait_for_sync());
    Work work{.request = request, .volume = volume, .services = services};
    work.driver_object = services_.driver_objects.find({"", volume.driver});
    const CSIDriver* object = work.driver_object.get();
    MountedVolume mounted;
    mounted.path = target_path(uid, volume);
    mounted.read_only = volume.read_only;
    mounted.is_block = volume.is_block;
    mounted.csi_driver = volume.driver;
    mounted.csi_handle = volume.handle;
    if (is_published(uid, volume)) {
        if (object && object->spec.requires_republish.value_or(false) && !volume.is_block)
            in_background("republish " + user, republish(request.pod, request.volume, volume, services));
        co_return mounted;
    }

    CO_TRY_VOID(check_lifecycle(volume, object));
    if (is_windows() && volume.is_block) co_return Error(Reason::BadRequest, "block devices are not available on Windows nodes");
    const bool alone = !volume.access_modes.empty() && volume.access_modes.front() == AccessMode::ReadWriteOncePod;
    if (const auto entry = find(key); entry && alone)
        for (const std::string& other : entry->users)
            if (!other.starts_with(uid + "/"))
                co_return Error(Reason::Conflict, "volume uses the ReadWriteOncePod access mode and is already in use by another pod");
    const bool attaches = !volume.is_ephemeral && attach_required(object);
    add_user(key, volume.driver, attaches ? objects::unique_volume_name(volume.driver, volume.handle) : "", user);
    if (attaches) {
        CO_TRY(work.publish_context, co_await wait_attached(request, volume));
    }

    const std::shared_ptr<Entry> entry = find(key);
    if (!entry) co_return Error(Reason::Conflict, "the pod is being removed");
    CO_TRY(work.hold, co_await hold(entry));
    if (is_published(uid, volume)) co_return mounted;  // by another volume of the pod that is the same
    const bool stages = !volume.is_ephemeral;
    if (stages) request.step = step_of(volume, "MountVolume.MountDevice", "MapVolume.SetUpDevice");
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

    // What says that the pod may have the volume.
    const std::string folder = pod_folder(uid, volume.is_block), own = folder + "/" + volume.name;
    const std::string data_folder = volume.is_block ? device_folder("", volume.name) + "/data" : own;
    const bool known = services_.files.exists(volume.is_block ? own : own + "/" + CsiVolumeData::FileName);
    entry->holders.insert(user);
    CO_TRY_VOID(services_.files.create_directories(data_folder, FolderMode));
    CO_TRY_VOID(services_.files.replace(data_folder + "/" + CsiVolumeData::FileName, to_json(data_of(volume)), DataMode));
    if (volume.is_block) {
        CO_TRY_VOID(services_.files.create_directories(folder, FolderMode));
        CO_TRY_VOID(services_.files.create_directories(parent_path(mounted.path), FolderMode));
        if (!known) CO_TRY_VOID(services_.files.create_symlink(mounted.path, own));
    }
    auto done = co_await stage(work, *entry);
    const bool staged = entry->is_staged;
    if (done) done = co_await publish(work);
    if (!done) {
        // Nothing is there to be taken down: the pod can end without the driver.
        if (!known && !staged && !volume.is_block && is_final_csi_error(done.error()) && remove_folder(services_.files, own, mounted.path))
            entry->holders.erase(user);
        co_return with_cause(std::move(done).error());
    }
    CO_TRY_VOID(co_await apply_group(work, mounted.path, !volume.is_ephemeral));
    published_.insert(user);
    co_return mounted;
}

Task<std::shared_ptr<const CsiVolumes::Hold>> CsiVolumes::hold(std::shared_ptr<Entry> entry) {
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
    if (once && work.request.is_ready(services_.files)) co_return {};
    auto applied = co_await apply_fs_group(path, work.request.pod, work.services);
    if (is_cancelled(applied)) co_return applied;
    if (!applied)
        co_return Error(applied.error().reason, "applyFSGroup failed for vol " + work.volume.handle + ": " + applied.error().message);
    co_return once ? work.request.set_ready(services_.files) : Result<void>();
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
Task<> CsiVolumes::republish(std::shared_ptr<const core::Pod> pod, core::Volume of_pod, CsiVolume volume, VolumeServices& services) {
    VolumeStep step{"FailedMount", failed("MountVolume.SetUp", volume.name)};
    const VolumeRequest request{.pod = pod, .volume = std::move(of_pod), .step = step};
    const auto done = co_await publish_again(request, volume, services);
    if (!done && !is_cancelled(done)) services.events.warning(reference_to(*pod), step.reason, step.text + done.error().message);
    co_return done;
}

Task<> CsiVolumes::publish_again(const VolumeRequest& request, const CsiVolume& volume, VolumeServices& services) {
    Work work{.request = request, .volume = volume, .services = services};
    work.driver_object = services_.driver_objects.find({"", volume.driver});
    const std::shared_ptr<Entry> entry = find(key_of(volume));
    if (!entry) co_return {};
    CO_TRY(work.hold, co_await hold(entry));
    if (!is_published(request.pod->metadata.uid, volume)) co_return {};  // taken down meanwhile
    if (is_attached(*entry)) {
        CO_TRY(work.publish_context, co_await read_attachment(volume));
    }
    CO_TRY(work.capabilities, co_await services_.drivers.capabilities(volume.driver));
    if (volume.is_ephemeral) work.capabilities.stage = false;
    CO_TRY_VOID(co_await publish(work));
    co_return co_await apply_group(work, target_path(request.pod->metadata.uid, volume), false);
}

/// What is watched may be of before the last pod let the volume go: then the API says that it is not in use, and it may be detached.
Task<bool> CsiVolumes::is_held(std::string name) {
    const auto node = co_await services_.client.get<core::Node>({"", services_.node_name});
    if (is_cancelled(node)) co_return node.error();
    co_return node&& shows_in_use(*node, name) && shows_attached(*node, name);
}

/// As upstream: not before the node's status says that the volume is in use, so that nobody detaches it, and that it is attached.
Task<CsiVolumes::PublishContext> CsiVolumes::wait_attached(const VolumeRequest& request, const CsiVolume& volume) {
    const std::string name = objects::unique_volume_name(volume.driver, volume.handle);
    const MonotonicTime end = services_.loop.now() + services_.attach_limit;
    Duration pause = FirstPause;
    for (;;) {
        if (!attach_required(services_.driver_objects.find({"", volume.driver}).get())) co_return PublishContext();
        const auto node = services_.node();
        const bool told = node && shows_in_use(*node, name);
        bool held = told && shows_attached(*node, name);
        if (held) {
            CO_TRY(held, co_await is_held(name));
        }
        if (held) {
            request.step = step_of(volume, "MountVolume.WaitForAttach", "MapVolume.WaitForAttach");
            co_return co_await read_attachment(volume);
        }
        if (pause == FirstPause || pause == LongestPause) services_.report_node();
        if (services_.loop.now() >= end) {
            const std::string& own = request.volume.name;
            const std::string text = "unmounted volumes=[" + own + "], unattached volumes=[" + own +
                                     "], failed to process volumes=[]: context deadline exceeded";
            CO_TRY(const bool full, co_await is_node_full(volume));
            request.step = {"FailedMount", full ? "" : "Unable to attach or mount volumes: "};
            if (full) co_return attach_limit_exceeded("Node has reached its volume attachment limit, rejecting pod. " + text);
            co_return Error(Reason::Timeout, text);
        }
        CO_TRY_VOID(co_await services_.loop.sleep(pause));
        pause = std::min<Duration>(pause * 3 / 2, LongestPause);
    }
}

Task<bool> CsiVolumes::is_node_full(const CsiVolume& volume) {
    const auto object = services_.driver_objects.find({"", volume.driver});
    if (!object || !object->spec.node_allocatable_update_period_seconds) co_return false;
    const std::string name = objects::attachment_name(volume.driver, volume.handle, services_.node_name);
    const auto attachment = co_await services_.client.get<VolumeAttachment>({"", name});
    if (is_cancelled(attachment)) co_return attachment.error();
    if (!attachment || !attachment->status.attach_error) co_return false;
    if (attachment->status.attach_error->error_code != static_cast<std::int32_t>(net::GrpcStatus::ResourceExhausted)) co_return false;
    const auto refreshed = co_await services_.drivers.refresh_limit(volume.driver);
    if (is_cancelled(refreshed)) co_return refreshed.error();
    if (!refreshed) services_.log.warn("limit of volumes not updated", {{"driver", volume.driver}, {"error", refreshed.error().message}});
    co_return true;
}

Task<CsiVolumes::PublishContext> CsiVolumes::read_attachment(const CsiVolume& volume) {
    const std::string name = objects::attachment_name(volume.driver, volume.handle, services_.node_name);
    const auto attachment = co_await services_.client.get<VolumeAttachment>({"", name});
    if (is_cancelled(attachment)) co_return attachment.error();
    const auto problem = [&](const std::string& text) { return Error(Reason::Unavailable, text); };
    if (!attachment)
        co_return problem("volume " + volume.handle + " has GET error for volume attachment " + name + ": " + attachment.error().message);
    if (attachment->metadata.deletion_timestamp) co_return problem("volume attachment is being deleted");
    if (attachment->status.attached) co_return attachment->status.attachment_metadata;
    if (attachment->status.attach_error) co_return problem(attachment->status.attach_error->message);
    co_return problem("volume " + volume.handle + " is not attached for volume attachment " + name);
}

Task<Texts> CsiVolumes::secret_data(const schema::Box<core::SecretReference>& reference, const char* field, VolumeServices& services) {
    Texts data;
    if (!reference) co_return data;
    const std::string namespace_ = reference->namespace_, name = reference->name;
    const auto secret = co_await services.objects.secret(namespace_, name);
    if (is_cancelled(secret)) co_return secret.error();
    if (!secret)
        co_return Error(secret.error().reason, std::string("fetching ") + field + " " + namespace_ + "/" + name +
                                                   " failed: kubernetes.io/csi: failed to find the secret " + name + " in the namespace " +
                                                   namespace_ + " with error: " + secret.error().message);
    for (const auto& [key, value] : (*secret)->data) data[key] = value;
    co_return data;
}

Task<> CsiVolumes::stage(const Work& work, Entry& entry) {
    const CsiVolume& volume = work.volume;
    if (!work.capabilities.stage || entry.is_staged) co_return {};
    work.request.step = step_of(volume, "MountVolume.MountDevice", "MapVolume.SetUpDevice");
    csi::NodeStageVolumeRequest request;
    request.volume_id = volume.handle;
    request.publish_context = work.publish_context;
    request.staging_target_path = for_driver(staging_path(volume));
    request.volume_capability = capability_of(volume, work.capabilities, work.request.fs_group());
    CO_TRY(request.secrets, co_await secret_data(volume.stage_secret, "NodeStageSecretRef", work.services));
    request.volume_context = volume.attributes;
    const std::string path = staging_path(volume), folder = parent_path(path);
    const auto there = services_.files.link_status(path);
    const bool known = there.has_value();
    // A driver's link is its own to renew. It is not followed: one to a share whose server is away would hold up the loop.
    const bool is_link = known && there->type == FileType::Symlink;
    CO_TRY_VOID(services_.files.create_directories(is_link ? folder : path, FolderMode));
    if (!volume.is_block) CO_TRY_VOID(services_.files.replace(folder + "/" + CsiVolumeData::FileName, to_json(data_of(volume)), DataMode));
    auto staged = co_await change(work, csi::Node::NodeStageVolume, std::move(request));
    if (!staged) {
        if (!known && is_final_csi_error(staged.error()))
            (void)(volume.is_block ? remove_empty(services_.files, path) : remove_folder(services_.files, folder, path));
        co_return std::move(staged).error();
    }
    entry.is_staged = true;
    co_return {};
}

Task<> CsiVolumes::publish(const Work& work) {
    const CsiVolume& volume = work.volume;
    const core::Pod& pod = *work.request.pod;
    work.request.step = step_of(volume, "MountVolume.SetUp", "MapVolume.MapPodDevice");
    csi::NodePublishVolumeRequest request;
    request.volume_id = volume.handle;
    request.publish_context = work.publish_context;
    if (work.capabilities.stage) request.staging_target_path = for_driver(staging_path(volume));
    request.target_path = for_driver(target_path(pod.metadata.uid, volume));
    request.volume_capability = capability_of(volume, work.capabilities, work.request.fs_group());
    request.readonly = volume.read_only;
    CO_TRY(request.secrets, co_await secret_data(volume.publish_secret, "NodePublishSecretRef", work.services));
    request.volume_context = volume.attributes;
    if (const CSIDriver* driver = work.driver_object.get()) {
        if (driver->spec.pod_info_on_mount.value_or(false)) merge(request.volume_context, pod_info(pod, volume.is_ephemeral));
        if (!volume.is_block) {
            CO_TRY(const Texts given, co_await tokens(work));
            merge(driver->spec.service_account_token_in_secrets.value_or(false) ? request.secrets : request.volume_context, given);
        }
    }
    co_return co_await change(work, csi::Node::NodePublishVolume, std::move(request));
}

Task<Texts> CsiVolumes::tokens(const Work& work) {
    Texts given;
    const auto& requests = work.driver_object->spec.token_requests;
    if (requests.empty()) co_return given;
    Value list = Value::object();
    for (const auto& wanted : requests) {
        auto token =
            co_await work.services.tokens.token(work.request.pod, wanted.audience, wanted.expiration_seconds.value_or(TokenSeconds));
        if (!token) {
            if (is_cancelled(token)) co_return std::move(token).error();
            co_return std::move(token).error().with_context(
                "kubernetes.io/csi: mounter.SetUpAt failed to get service accoount token attributes");
        }
        list[wanted.audience] = Value::object({{"token", token->token}, {"expirationTimestamp", Timestamp(token->expires).to_string()}});
    }
    given["csi.storage.k8s.io/serviceAccount.tokens"] = schema::to_json(list);
    co_return given;
}

Task<> CsiVolumes::expand(CsiVolume volume, std::string path, Quantity size, bool is_outdated, VolumeServices& services) {
    const std::shared_ptr<Entry> entry = find(key_of(volume));
    const Error gone(Reason::Unavailable, "the volume has been taken down");  // says nothing of the claim's growth
    if (!entry) co_return gone;
    CO_TRY(const auto permit, co_await entry->lock.acquire());
    if (find(key_of(volume)) != entry) co_return gone;
    if (entry->grows_unused) co_return Error(Reason::Conflict, "the driver does not enlarge the volume while it is in use");
    CO_TRY(const CsiCapabilities capabilities, co_await services_.drivers.capabilities(volume.driver));
    if (!capabilities.expand) co_return Error(Reason::MethodNotAllowed, "NodeExpand is not supported by the CSI driver " + volume.driver);
    csi::NodeExpandVolumeRequest request;
    request.volume_id = volume.handle;
    request.volume_path = for_driver(std::move(path));
    request.capacity_range.emplace().required_bytes = size.value();
    if (capabilities.stage) request.staging_target_path = for_driver(staging_path(volume));
    request.volume_capability = capability_of(volume, capabilities, std::nullopt);
    CO_TRY(request.secrets, co_await secret_data(volume.expand_secret, "NodeExpandSecretRef", services));
    auto expanded = co_await services_.drivers.call(volume.driver, csi::Node::NodeExpandVolume, std::move(request));
    if (expanded || is_cancelled(expanded)) co_return expanded ? Result<void>() : Result<void>(expanded.error());
    auto error = expansion_error(expanded.error());
    entry->grows_unused = error.reason == Reason::Conflict;
    if (is_outdated && entry->failed_to_grow && error.reason == Reason::InternalError) error.reason = Reason::BadRequest;
    entry->failed_to_grow |= error.reason == Reason::InternalError;
    co_return error;
}

Task<CsiStats> CsiVolumes::stats(std::string driver, std::string handle, std::string path, Duration limit) {
    CO_TRY(const CsiCapabilities capabilities,
           co_await with_timeout(services_.drivers.capabilities(driver), limit, "asking for the driver's capabilities"));
    if (!capabilities.stats) co_return Error(Reason::MethodNotAllowed, "the driver tells no statistics");
    csi::NodeGetVolumeStatsRequest request;
    request.volume_id = std::move(handle);
    request.volume_path = for_driver(std::move(path));
    CO_TRY(const csi::NodeGetVolumeStatsResponse answer,
           co_await services_.drivers.call(driver, csi::Node::NodeGetVolumeStats, std::move(request), limit));
    CsiStats stats;
    if (capabilities.condition) stats.condition = answer.volume_condition.value_or(csi::VolumeCondition());
    for (const csi::VolumeUsage& usage : answer.usage) {
        if (usage.unit == csi::VolumeUsageUnit::Bytes) {
            stats.file_system.capacity = positive(usage.total);
            stats.file_system.available = positive(usage.available);
            stats.used.bytes = positive(usage.used);
        } else if (usage.unit == csi::VolumeUsageUnit::Inodes) {
            stats.file_system.inodes = positive(usage.total);
            stats.file_system.inodes_free = positive(usage.available);
            stats.used.inodes = positive(usage.used);
        }
    }
    co_return stats;
}

Task<> CsiVolumes::tear_down(std::string uid, VolumeServices& services) {
    std::vector<Task<>> tasks;
    for (const std::string& name : services_.files.list(pod_folder(uid, false)).value_or(std::vector<std::string>()))
        tasks.push_back(tear_down_mount(uid, name, services));
    for (const std::string& name : services_.files.list(pod_folder(uid, true)).value_or(std::vector<std::string>()))
        tasks.push_back(tear_down_device(uid, name, services));
    CO_TRY_VOID(co_await first_error_of(std::move(tasks)));
    // What the pod waited for and never had.
    std::vector<std::pair<std::string, std::string>> waited;
    for (const auto& [key, entry] : volumes_)
        for (const std::string& user : entry->users)
            if (user.starts_with(uid + "/")) waited.emplace_back(key, user);
    for (const auto& [key, user] : waited) remove_user(key, user);
    co_return {};
}

Task<> CsiVolumes::tear_down_mount(std::string uid, std::string name, VolumeServices& services) {
    const std::string folder = pod_folder(uid, false) + "/" + name, target = folder + "/mount", user = uid + "/" + name;
    const auto data = read_csi_volume_data(services_.files, folder);
    if (is_not_found(data)) co_return {};
    if (!data) co_return data.error();
    const std::string key = key_of(*data, false);
    const std::shared_ptr<Entry> entry = add_holder(*data, false, user);
    CO_TRY(const auto permit, co_await entry->lock.acquire());
    published_.erase(user);
    CO_TRY_VOID(co_await unpublish(*data, target, failed("UnmountVolume.TearDown", name) + "kubernetes.io/csi: Unmounter.TearDownAt failed",
                                   services));
    if (entry->holders.size() == 1) {
        entry->is_staged = false;  // whatever comes of it
        if (!data->is_ephemeral) CO_TRY_VOID(co_await unstage(*data, false));
    }
    CO_TRY_VOID(remove_folder(services_.files, folder, target));
    entry->holders.erase(user);
    remove_user(key, user);
    co_return {};
}

Task<> CsiVolumes::tear_down_device(std::string uid, std::string name, VolumeServices& services) {
    const std::string link = pod_folder(uid, true) + "/" + name, folder = device_folder("", name), user = uid + "/" + name;
    const std::string target = device_folder("publish", name) + "/" + uid;
    const auto data = read_csi_volume_data(services_.files, folder + "/data");
    if (!data) co_return data.error();
    const std::string key = key_of(*data, true);
    const std::shared_ptr<Entry> entry = add_holder(*data, true, user);
    CO_TRY(const auto permit, co_await entry->lock.acquire());
    published_.erase(user);
    CO_TRY_VOID(co_await unpublish(
        *data, target, failed("UnmapVolume.UnmapPodDevice", name) + "kubernetes.io/csi: blockMapper.unpublishVolumeForBlock failed",
        services));
    CO_TRY_VOID(remove_empty(services_.files, target));
    const bool is_last = entry->holders.size() == 1;
    if (is_last) {
        entry->is_staged = false;
        CO_TRY_VOID(co_await unstage(*data, true));
        CO_TRY_VOID(remove_empty(services_.files, parent_path(target)));
    }
    CO_TRY_VOID(remove_empty(services_.files, link));
    if (is_last) {
        CO_TRY_VOID(remove_empty(services_.files, folder + "/data/" + CsiVolumeData::FileName));
        CO_TRY_VOID(remove_empty(services_.files, folder + "/data"));
        CO_TRY_VOID(remove_empty(services_.files, folder));
    }
    entry->holders.erase(user);
    remove_user(key, user);
    co_return {};
}

Task<> CsiVolumes::unpublish(CsiVolumeData data, std::string target, std::string failure, VolumeServices& services) {
    csi::NodeUnpublishVolumeRequest request;
    request.volume_id = data.handle;
    request.target_path = for_driver(target);
    auto unpublished = co_await services_.drivers.call(data.driver, csi::Node::NodeUnpublishVolume, std::move(request));
    if (is_cancelled(unpublished)) co_return std::move(unpublished).error();
    if (!unpublished) co_return std::move(unpublished).error().with_context(failure);
    // Drivers that do not clean up after themselves leave the mount.
    co_return services.mounter.unmount(target);
}

/// The last pod has gone.
Task<> CsiVolumes::unstage(CsiVolumeData data, bool is_block) {
    const std::string folder = is_block ? "" : global_folder(data.driver, data.handle);
    const std::string path = is_block ? device_folder("staging", data.name) : folder + "/globalmount";
    if (!services_.files.exists(path)) co_return {};
    CO_TRY(const CsiCapabilities capabilities, co_await services_.drivers.capabilities(data.driver));
    if (capabilities.stage) {
        csi::NodeUnstageVolumeRequest request;
        request.volume_id = data.handle;
        request.staging_target_path = for_driver(path);
        auto unstaged = co_await services_.drivers.call(data.driver, csi::Node::NodeUnstageVolume, std::move(request));
        if (!unstaged) {
            if (is_cancelled(unstaged)) co_return std::move(unstaged).error();
            co_return std::move(unstaged).error().with_context(
                failed(is_block ? "UnmapDevice.TearDownDevice" : "UnmountDevice", data.name) +
                "kubernetes.io/csi: " + (is_block ? "blockMapper.unstageVolumeForBlock failed" : "attacher.UnmountDevice failed"));
        }
    }
    co_return is_block ? remove_empty(services_.files, path) : remove_folder(services_.files, folder, path);
}

}  // namespace porthole::kubelet
