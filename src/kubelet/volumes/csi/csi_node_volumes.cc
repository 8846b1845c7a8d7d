#include "kubelet/volumes/csi/csi_node_volumes.h"

#include <algorithm>

#include "base/result.h"
#include "kubelet/volumes/csi/csi_requests.h"
#include "objects/csi_volume.h"

namespace porthole::kubelet {
namespace {

namespace csi = api::csi::v1;

std::vector<std::string> names_in(FileSystem& files, const std::string& folder) {
    return files.list(folder).value_or(std::vector<std::string>());
}

}  // namespace

std::string CsiNodeVolumes::key_of(const CsiVolumeData& data, bool is_block) {
    return is_block ? "device/" + data.name : objects::unique_volume_name(data.driver, data.handle);
}

void CsiNodeVolumes::load() {
    const bool all_known = load_pods();
    load_volumes();
    for (const auto& [key, entry] : volumes_)
        if (all_known && entry->users.empty()) unstage_later(entry);
}

bool CsiNodeVolumes::load_pods() {
    bool all_known = true;
    for (const std::string& uid : names_in(services_.host.files, paths_.pods())) {
        for (const bool is_block : {false, true}) {
            const std::string folder = paths_.pod_folder(uid, is_block);
            for (const std::string& name : names_in(services_.host.files, folder)) {
                const auto data = read_csi_volume_data(services_.host.files, is_block ? paths_.device_data(name) : folder + "/" + name);
                if (data) {
                    add_user(*data, is_block, uid + "/" + name);
                } else if (!is_not_found(data)) {
                    all_known = false;
                    services_.log.warn("the record of a volume of an earlier kubelet cannot be read", {{"error", data.error().message}});
                }
            }
        }
    }
    return all_known;
}

/// What is not where it must be is not a file of this kubelet's.
void CsiNodeVolumes::load_volumes() {
    for (const std::string& driver : names_in(services_.host.files, paths_.drivers())) {
        const std::string above = paths_.drivers() + "/" + driver;
        for (const std::string& name : names_in(services_.host.files, above)) {
            const bool is_block = above == parent_path(paths_.device_folder("", name));
            const std::string folder = above + "/" + name;
            const auto data = read_csi_volume_data(services_.host.files, is_block ? paths_.device_data(name) : folder);
            if (data && (is_block ? data->name == name : paths_.global_folder(data->driver, data->handle) == folder)) add(*data, is_block);
        }
    }
}

CsiNodeVolumes::Entry CsiNodeVolumes::add(const CsiVolumeData& data, bool is_block) {
    Entry& entry = volumes_[key_of(data, is_block)];
    if (!entry) {
        entry = std::make_shared<CsiNodeVolume>();
        entry->data = data;
        entry->is_block = is_block;
    }
    return entry;
}

CsiNodeVolumes::Entry CsiNodeVolumes::add_user(const CsiVolumeData& data, bool is_block, const std::string& user) {
    Entry entry = add(data, is_block);
    entry->users.insert(user);
    return entry;
}

void CsiNodeVolumes::remove_user(const std::string& key, const std::string& user) {
    const Entry entry = find(key);
    if (!entry || !entry->users.erase(user) || !entry->users.empty()) return;
    if (may_be_staged(*entry))
        unstage_later(entry);
    else
        forget(*entry);
}

void CsiNodeVolumes::remove_users_of_pod(const std::string& uid) {
    std::vector<std::pair<std::string, std::string>> left;
    for (const auto& [key, entry] : volumes_)
        for (const std::string& user : entry->users)
            if (user.starts_with(uid + "/")) left.emplace_back(key, user);
    for (const auto& [key, user] : left) remove_user(key, user);
}

CsiNodeVolumes::Entry CsiNodeVolumes::find(const std::string& key) const {
    const auto found = volumes_.find(key);
    return found == volumes_.end() ? nullptr : found->second;
}

void CsiNodeVolumes::forget(const CsiNodeVolume& volume) {
    const bool told = !volume.data.is_ephemeral;
    volumes_.erase(key_of(volume.data, volume.is_block));
    if (told) services_.report_node();
}

bool CsiNodeVolumes::is_attached(const CsiNodeVolume& volume) const {
    return !volume.data.is_ephemeral && attach_required(services_.driver_objects.find({"", volume.data.driver}).get());
}

std::vector<std::string> CsiNodeVolumes::names_in_use() const {
    std::set<std::string> names;
    for (const auto& [key, entry] : volumes_)
        if (is_attached(*entry)) names.insert(objects::unique_volume_name(entry->data.driver, entry->data.handle));
    return {names.begin(), names.end()};
}

bool CsiNodeVolumes::may_be_staged(const CsiNodeVolume& volume) const {
    const CsiVolumeData& data = volume.data;
    if (data.is_ephemeral) return false;
    return services_.host.files.exists(volume.is_block ? paths_.device_folder("", data.name)
                                                       : paths_.global_folder(data.driver, data.handle));
}

void CsiNodeVolumes::unstage_later(Entry entry) {
    entry->failed_to_grow = entry->grows_unused = false;  // that was while pods had it
    const std::uint64_t departure = ++entry->departures;
    scope_.spawn(unstage_unused(std::move(entry), departure));
}

/// Until it succeeds, or a pod has come: when that goes, the next one begins without a pause.
Task<> CsiNodeVolumes::unstage_unused(Entry entry, std::uint64_t departure) {
    for (Duration pause = FirstPause;; pause = std::min<Duration>(pause * 2, LongestPause)) {
        {
            CO_TRY(const auto permit, co_await entry->lock.acquire());
            if (!entry->users.empty() || entry->departures != departure) co_return {};
            entry->is_staged = false;  // whatever comes of it
            const auto unstaged = co_await unstage(entry->data, entry->is_block);
            if (is_cancelled(unstaged)) co_return unstaged;
            if (unstaged) {
                if (entry->users.empty()) forget(*entry);
                co_return {};
            }
            services_.log.warn("a volume cannot be unstaged; this will be tried again",
                               {{"volume", entry->data.name}, {"error", unstaged.error().message}});
        }
        CO_TRY_VOID(co_await services_.host.loop.sleep(pause));
    }
}

Task<> CsiNodeVolumes::unstage(CsiVolumeData data, bool is_block) {
    const std::string path = paths_.staging_path(data, is_block);
    // What is staged may be of a server that is away.
    CO_TRY(const bool there,
           co_await run_blocking<bool>(services_.host.workers, [&] { return !is_not_found(services_.host.files.link_status(path)); }));
    if (!there) co_return remove_files(data, is_block);
    CO_TRY(const CsiCapabilities capabilities, co_await services_.drivers.capabilities(data.driver));
    if (capabilities.stage) {
        csi::NodeUnstageVolumeRequest request;
        request.volume_id = data.handle;
        request.staging_target_path = paths_.for_driver(path);
        auto unstaged = co_await services_.drivers.call(data.driver, csi::Node::NodeUnstageVolume, std::move(request));
        if (!unstaged) {
            if (is_cancelled(unstaged)) co_return std::move(unstaged).error();
            co_return std::move(unstaged).error().with_context(
                failed_csi_step(is_block ? "UnmapDevice.TearDownDevice" : "UnmountDevice", data.name) +
                "kubernetes.io/csi: " + (is_block ? "blockMapper.unstageVolumeForBlock failed" : "attacher.UnmountDevice failed"));
        }
    }
    co_return remove_files(data, is_block);
}

/// The data file goes after what it tells of.
Result<void> CsiNodeVolumes::remove_files(const CsiVolumeData& data, bool is_block) {
    const std::string path = paths_.staging_path(data, is_block);
    if (!is_block) return remove_csi_folder(services_.host.files, parent_path(path), path);
    const std::string folder = paths_.device_folder("", data.name);
    TRY_VOID(remove_empty(services_.host.files, path));
    TRY_VOID(remove_empty(services_.host.files, paths_.device_folder("publish", data.name)));
    TRY_VOID(remove_csi_volume_data(services_.host.files, paths_.device_data(data.name)));
    TRY_VOID(remove_empty(services_.host.files, paths_.device_data(data.name)));
    return remove_empty(services_.host.files, folder);
}

}  // namespace porthole::kubelet
