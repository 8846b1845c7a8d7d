#include "kubelet/volumes/csi/csi_node_volumes.h"

#include "base/result.h"
#include "kubelet/volumes/csi/csi_requests.h"
#include "objects/csi_volume.h"

namespace porthole::kubelet {

std::string CsiNodeVolumes::key_of(const CsiVolume& volume) {
    return volume.is_block ? "device/" + volume.name : objects::unique_volume_name(volume.driver, volume.handle);
}
std::string CsiNodeVolumes::key_of(const CsiVolumeData& data, bool is_block) {
    return is_block ? "device/" + data.name : objects::unique_volume_name(data.driver, data.handle);
}

void CsiNodeVolumes::load() {
    FileSystem& files = services_.files;
    const auto names_in = [&](const std::string& folder) { return files.list(folder).value_or(std::vector<std::string>()); };
    for (const std::string& uid : names_in(paths_.pods())) {
        for (const bool is_block : {false, true}) {
            const std::string folder = paths_.pod_folder(uid, is_block);
            for (const std::string& name : names_in(folder)) {
                const auto data = read_csi_volume_data(files, is_block ? paths_.device_folder("", name) + "/data" : folder + "/" + name);
                if (data)
                    add_holder(*data, is_block, uid + "/" + name);
                else if (!is_not_found(data))
                    services_.log.warn("a volume of an earlier kubelet is not known", {{"error", data.error().message}});
            }
        }
    }
}

void CsiNodeVolumes::add_user(const std::string& key, const std::string& driver, const std::string& in_use_name, const std::string& user) {
    Entry& entry = volumes_[key];
    if (!entry) entry = std::make_shared<CsiNodeVolume>();
    entry->driver = driver;
    entry->in_use_name = in_use_name;
    entry->users.insert(user);
}

CsiNodeVolumes::Entry CsiNodeVolumes::add_holder(const CsiVolumeData& data, bool is_block, const std::string& user) {
    const std::string key = key_of(data, is_block);
    add_user(key, data.driver, data.is_ephemeral ? "" : objects::unique_volume_name(data.driver, data.handle), user);
    Entry entry = find(key);
    entry->holders.insert(user);
    return entry;
}

void CsiNodeVolumes::remove_user(const std::string& key, const std::string& user) {
    const auto found = volumes_.find(key);
    if (found == volumes_.end() || !found->second->users.erase(user) || !found->second->users.empty()) return;
    const bool told = !found->second->in_use_name.empty();
    found->second->holders.clear();
    volumes_.erase(found);
    if (told) services_.report_node();
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

bool CsiNodeVolumes::is_attached(const CsiNodeVolume& volume) const {
    return !volume.in_use_name.empty() && attach_required(services_.driver_objects.find({"", volume.driver}).get());
}

std::vector<std::string> CsiNodeVolumes::names_in_use() const {
    std::set<std::string> names;
    for (const auto& [key, entry] : volumes_)
        if (is_attached(*entry)) names.insert(entry->in_use_name);
    return {names.begin(), names.end()};
}

}  // namespace porthole::kubelet
