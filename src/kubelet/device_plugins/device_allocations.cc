#include "kubelet/device_plugins/device_allocations.h"

#include <iterator>

#include "base/base64.h"
#include "kubelet/container/windows_config.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::kubelet {
namespace {

using schema::Value;
namespace cri = api::cri::v1;
namespace plugin = api::deviceplugin::v1beta1;

constexpr const char* CheckpointVersion = "v1";

Value list_of(const std::set<std::string>& strings) {
    Value list = Value::array();
    for (const std::string& one : strings) list.as_array().emplace_back(one);
    return list;
}

const schema::Array& array_at(const Value& object, std::string_view key) {
    static const schema::Array None;
    const Value* list = object.find(key);
    return list && list->is_array() ? list->as_array() : None;
}

std::set<std::string> set_at(const Value& object, std::string_view key) {
    std::set<std::string> strings;
    for (const Value& one : array_at(object, key))
        if (one.is_string()) strings.insert(one.as_string());
    return strings;
}

}  // namespace

std::string checkpoint_text(const DeviceCheckpoint& checkpoint) {
    Value list = Value::array();
    for (const auto& [pod, containers] : checkpoint.allocations)
        for (const auto& [container, resources] : containers)
            for (const auto& [resource, allocated] : resources)
                list.as_array().push_back(Value::object({{"podUID", pod},
                                                         {"container", container},
                                                         {"resource", resource},
                                                         {"devices", list_of(allocated.ids)},
                                                         {"answer", encode_base64(schema::encode_protobuf(allocated.answer))}}));
    return schema::to_json(
        Value::object({{"version", CheckpointVersion}, {"allocations", std::move(list)}, {"resources", list_of(checkpoint.resources)}}));
}

Result<DeviceCheckpoint> parse_device_checkpoint(std::string_view text) {
    TRY(const Value value, schema::parse_json(text));
    if (value.string_at({"version"}) != CheckpointVersion) return Error(Reason::BadRequest, "not a checkpoint of devices");
    DeviceCheckpoint checkpoint{.resources = set_at(value, "resources")};
    for (const Value& one : array_at(value, "allocations")) {
        const std::string pod(one.string_at({"podUID"})), container(one.string_at({"container"})), resource(one.string_at({"resource"}));
        if (pod.empty() || container.empty() || resource.empty()) return Error(Reason::BadRequest, "not a checkpoint of devices");
        AllocatedDevices& allocated = checkpoint.allocations[pod][container][resource];
        allocated.ids = set_at(one, "devices");
        TRY(const std::string answer, decode_base64(one.string_at({"answer"})));
        TRY(allocated.answer, schema::decode_protobuf<plugin::ContainerAllocateResponse>(answer));
    }
    return checkpoint;
}

std::vector<std::string> cdi_ids(const std::map<std::string, AllocatedDevices>& resources) {
    std::vector<std::string> ids;
    for (const auto& [resource, allocated] : resources)
        for (const plugin::CDIDevice& one : allocated.answer.cdi_devices) ids.push_back(one.name);
    return ids;
}

void add_allocated_devices(const std::map<std::string, AllocatedDevices>& resources, bool windows, cri::ContainerConfig& config) {
    std::set<std::string> variables;
    for (const cri::KeyValue& one : config.envs) variables.insert(one.key);
    std::vector<cri::Mount> mounts;
    std::vector<cri::Device> devices;
    for (const auto& [resource, allocated] : resources) {
        const plugin::ContainerAllocateResponse& answer = allocated.answer;
        for (const auto& [name, value] : answer.envs)
            if (variables.insert(name).second) config.envs.push_back({.key = name, .value = value});
        for (const plugin::Mount& one : answer.mounts) {
            cri::Mount& mount = mounts.emplace_back();
            mount.container_path = windows ? windows_path(one.container_path) : one.container_path;
            mount.host_path = windows ? windows_path(one.host_path) : one.host_path;
            mount.readonly = one.read_only;
        }
        for (const plugin::DeviceSpec& one : answer.devices)
            devices.push_back({.container_path = one.container_path, .host_path = one.host_path, .permissions = one.permissions});
        config.annotations.insert(answer.annotations.begin(), answer.annotations.end());
    }
    config.mounts.insert(config.mounts.begin(), std::make_move_iterator(mounts.begin()), std::make_move_iterator(mounts.end()));
    config.devices.insert(config.devices.begin(), std::make_move_iterator(devices.begin()), std::make_move_iterator(devices.end()));
}

}  // namespace porthole::kubelet
