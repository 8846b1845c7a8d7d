#include "kubelet/volumes/csi/volume_data.h"

#include "kubelet/volumes/csi/csi_drivers.h"
#include "schema/json/json.h"

namespace porthole::kubelet {

using schema::Value;

namespace {

constexpr const char* Unfinished = ".new";
constexpr std::uint32_t Mode = 0600;

}  // namespace

std::string to_json(const CsiVolumeData& data) {
    Value all = Value::object({{"specVolID", data.name},
                               {"volumeHandle", data.handle},
                               {"driverName", data.driver},
                               {"nodeName", data.node},
                               {"attachmentID", data.attachment},
                               {"volumeLifecycleMode", data.is_ephemeral ? "Ephemeral" : "Persistent"}});
    if (!data.context.empty()) all["seLinuxMountContext"] = data.context;
    return schema::to_json(all);
}

Result<CsiVolumeData> parse_csi_volume_data(std::string_view json) {
    TRY(const Value tree, schema::parse_json(json));
    const auto text = [&](const char* key) { return std::string(schema::at(tree, key).string_or("")); };
    CsiVolumeData data;
    data.name = text("specVolID");
    data.driver = text("driverName");
    data.handle = text("volumeHandle");
    data.node = text("nodeName");
    data.attachment = text("attachmentID");
    data.is_ephemeral = text("volumeLifecycleMode") == "Ephemeral";
    data.context = text("seLinuxMountContext");
    if (!is_csi_driver_name(data.driver) || data.handle.empty()) return Error(Reason::BadRequest, "it has no driver or no volume handle");
    return data;
}

Result<CsiVolumeData> read_csi_volume_data(FileSystem& files, const std::string& directory) {
    const std::string path = directory + "/" + CsiVolumeData::FileName;
    TRY(const std::string json, files.read(path, CsiVolumeData::Largest));
    if (json.empty()) return Error(Reason::NotFound, path + " is empty");  // as after a power failure: nothing that it named is left
    auto data = parse_csi_volume_data(json);
    if (!data) return std::move(data).error().with_context("kubernetes.io/csi: failed to parse volume data file [" + path + "]");
    return data;
}

Result<void> write_csi_volume_data(FileSystem& files, const std::string& directory, const CsiVolumeData& data) {
    const std::string path = directory + "/" + CsiVolumeData::FileName;
    TRY_VOID(files.write(path + Unfinished, to_json(data), Mode));
    return files.rename(path + Unfinished, path);
}

Result<void> remove_csi_volume_data(FileSystem& files, const std::string& directory) {
    for (const char* end : {Unfinished, ""}) {
        const auto removed = files.remove(directory + "/" + CsiVolumeData::FileName + end);
        if (!removed && !is_not_found(removed)) return removed;
    }
    return {};
}

}  // namespace porthole::kubelet
