#include "csi/csi_driver.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/result.h"
#include "base/strings.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::testing {
namespace {

namespace csi = api::csi::v1;
namespace registration = api::pluginregistration::v1;
using Capability = csi::NodeCapabilityType;
using net::GrpcStatus;

constexpr std::int64_t FirstSize = 64 << 20;

Error refuse(GrpcStatus status, const std::string& text) { return net::error_of_grpc(status, text); }
Error system_error(const std::string& what) { return refuse(GrpcStatus::Internal, what + ": " + std::strerror(errno)); }

Result<void> bind_mount(const std::string& from, const std::string& to, bool read_only) {
    if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0) return system_error("mounting " + to);
    if (read_only && ::mount(nullptr, to.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0)
        return system_error("mounting " + to + " for reading only");
    return {};
}

/// Its device has a file system already.
Result<void> mount_ext4(const std::string& device, const std::string& to, const std::vector<std::string>& options) {
    if (::mount(device.c_str(), to.c_str(), "ext4", 0, join(options, ",").c_str()) != 0) return system_error("mounting " + to);
    return {};
}

Result<void> unmount(const std::string& path) {
    if (::umount2(path.c_str(), UMOUNT_NOFOLLOW) != 0 && errno != EINVAL && errno != ENOENT) return system_error("unmounting " + path);
    return {};
}

}  // namespace

/// Whatever was done before: someone may have unmounted it, or what it showed is gone.
Result<void> CsiDriver::mount_once(const std::string& to, const std::function<Result<void>()>& mount) {
    if (!options_.mounts) return {};
    auto there = files_->link_status(to);
    if (!there && !is_not_found(there)) {
        TRY_VOID(unmount(to));
        there = files_->link_status(to);
    }
    return there && there->is_mount_point ? Result<void>() : mount();
}

Result<void> CsiDriver::show(const std::string& from, const std::string& to, bool read_only) {
    return mount_once(to, [&] { return bind_mount(from, to, read_only); });
}

template <class Method>
void CsiDriver::serve(const char* name, const Method& method,
                      std::function<Result<typename Method::Response>(const typename Method::Request&)> answer) {
    grpc_.add(std::string(method.path), [this, name, answer = std::move(answer)](std::string bytes) -> Task<std::string> {
        return [](CsiDriver& driver, std::string name, std::string bytes, auto answer) -> Task<std::string> {
            CO_TRY(const auto request, schema::decode_protobuf<typename Method::Request>(bytes));
            CO_TRY_VOID(co_await driver.pass(name, schema::encode_json(request)));
            CO_TRY(const auto response, answer(request));
            driver.ended.insert(name);
            co_return schema::encode_protobuf(response);
        }(*this, name, std::move(bytes), answer);
    });
}

CsiDriver::CsiDriver(AsioLoop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      files_(make_file_system()),
      server_(loop, grpc_, {}, Logger(make_null_sink(), "driver")),
      registration_(loop, grpc_, {}, Logger(make_null_sink(), "driver")) {
    serve("GetInfo", registration::Registration::GetInfo, [this](const auto&) -> Result<registration::PluginInfo> {
        registration::PluginInfo info;
        info.type = "CSIPlugin";
        info.name = options_.name;
        info.endpoint = options_.endpoint;
        info.supported_versions = options_.versions;
        return info;
    });
    serve("NotifyRegistrationStatus", registration::Registration::NotifyRegistrationStatus,
          [this](const registration::RegistrationStatus& status) -> Result<registration::RegistrationStatusResponse> {
              told.push_back(status.plugin_registered ? "registered" : status.error);
              return registration::RegistrationStatusResponse();
          });
    serve("GetPluginInfo", csi::Identity::GetPluginInfo, [this](const auto&) -> Result<csi::GetPluginInfoResponse> {
        csi::GetPluginInfoResponse response;
        response.name = options_.name;
        response.vendor_version = "1";
        return response;
    });
    serve("GetPluginCapabilities", csi::Identity::GetPluginCapabilities, [this](const auto&) -> Result<csi::GetPluginCapabilitiesResponse> {
        csi::GetPluginCapabilitiesResponse response;
        if (options_.has_controller)
            response.capabilities.emplace_back().service.emplace().type = csi::PluginServiceType::ControllerService;
        return response;
    });
    serve("Probe", csi::Identity::Probe, [](const auto&) -> Result<csi::ProbeResponse> { return csi::ProbeResponse(); });
    serve("NodeGetInfo", csi::Node::NodeGetInfo, [this](const auto&) -> Result<csi::NodeGetInfoResponse> {
        csi::NodeGetInfoResponse response;
        response.node_id = options_.node_id;
        response.max_volumes_per_node = options_.most_volumes;
        if (!options_.topology.empty()) response.accessible_topology.emplace().segments = options_.topology;
        return response;
    });
    serve("NodeGetCapabilities", csi::Node::NodeGetCapabilities, [this](const auto&) -> Result<csi::NodeGetCapabilitiesResponse> {
        csi::NodeGetCapabilitiesResponse response;
        for (const Capability capability : options_.capabilities) response.capabilities.emplace_back().rpc.emplace().type = capability;
        return response;
    });
    serve("NodeStageVolume", csi::Node::NodeStageVolume, [this](const auto& request) { return stage(request); });
    serve("NodeUnstageVolume", csi::Node::NodeUnstageVolume, [this](const auto& request) { return unstage(request); });
    serve("NodePublishVolume", csi::Node::NodePublishVolume, [this](const auto& request) { return publish(request); });
    serve("NodeUnpublishVolume", csi::Node::NodeUnpublishVolume, [this](const auto& request) { return unpublish(request); });
    serve("NodeExpandVolume", csi::Node::NodeExpandVolume, [this](const auto& request) { return expand(request); });
    serve("NodeGetVolumeStats", csi::Node::NodeGetVolumeStats, [this](const auto& request) { return stats(request); });
}

CsiDriver::~CsiDriver() = default;

Result<void> CsiDriver::start() {
    TRY_VOID(files_->create_directories(options_.storage, 0755));
    for (const std::string& socket : {options_.endpoint, options_.registration}) {
        if (socket.empty()) continue;
        TRY_VOID(files_->create_directories(parent_path(socket), 0755));
        (void)files_->remove(socket);
    }
    TRY_VOID(server_.listen_unix(options_.endpoint));
    if (!options_.registration.empty()) TRY_VOID(registration_.listen_unix(options_.registration));
    return {};
}

Task<> CsiDriver::close() {
    CO_TRY_VOID(co_await registration_.close());
    CO_TRY_VOID(co_await server_.close());
    // A driver that goes takes its sockets with it: so the kubelet knows.
    for (const std::string& socket : {options_.registration, options_.endpoint})
        if (!socket.empty()) (void)files_->remove(socket);
    co_return {};
}

std::size_t CsiDriver::count(const std::string& method) const {
    std::size_t found = 0;
    for (const Call& call : calls) found += call.method == method;
    return found;
}

Task<> CsiDriver::pass(std::string name, std::string request) {
    calls.push_back({name, std::move(request)});
    Switch chosen = switches[name];
    if (const auto text = files_->read(options_.storage + "/switches/" + name)) {
        if (text->starts_with("delay ")) chosen.delay = std::chrono::milliseconds(std::atoll(text->c_str() + 6));
        if (text->starts_with("fail ")) {
            chosen.failure = static_cast<GrpcStatus>(std::atoi(text->c_str() + 5));
            const std::size_t space = text->find(' ', 5);
            chosen.message = space == text->npos ? "" : text->substr(space + 1);
        }
    }
    if (chosen.delay != Duration::zero()) CO_TRY_VOID(co_await loop_.sleep(chosen.delay));
    if (chosen.failure != GrpcStatus::Ok) co_return refuse(chosen.failure, chosen.message);
    co_return {};
}

/// The loop device of the volume's file.
Result<std::string> CsiDriver::device_of(const std::string& volume) {
    if (const auto found = devices_.find(volume); found != devices_.end()) return found->second;
    const std::string image = folder_of(volume) + ".img";
    if (!options_.mounts) return image;
    const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    const int number = control < 0 ? -1 : ::ioctl(control, LOOP_CTL_GET_FREE);
    if (control >= 0) ::close(control);
    if (number < 0) return system_error("looking for a loop device");
    const std::string path = "/dev/loop" + std::to_string(number);
    const int file = ::open(image.c_str(), O_RDWR | O_CLOEXEC), device = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    Result<void> made;
    if (file < 0 || device < 0 || ::ioctl(device, LOOP_SET_FD, file) != 0) made = system_error("attaching " + path + " to " + image);
    if (file >= 0) ::close(file);
    if (device >= 0) ::close(device);
    TRY_VOID(made);
    devices_[volume] = path;
    return path;
}

Result<csi::NodeStageVolumeResponse> CsiDriver::stage(const csi::NodeStageVolumeRequest& request) {
    if (!has(Capability::StageUnstageVolume)) return refuse(GrpcStatus::Unimplemented, "no staging");
    if (request.volume_id.empty() || request.staging_target_path.empty() || !request.volume_capability)
        return refuse(GrpcStatus::InvalidArgument, "a field is missing");
    if (is_not_found(files_->link_status(request.staging_target_path)))
        return refuse(GrpcStatus::Internal, "the staging path is not there");
    if (options_.attached && !files_->exists(folder_of(request.volume_id)))
        return refuse(GrpcStatus::FailedPrecondition, "the volume is not attached to this node");
    const std::string image = folder_of(request.volume_id) + ".img";
    if (request.volume_capability->block) {
        if (!files_->exists(image)) TRY_VOID(files_->write(image, std::string(1 << 20, '\0'), 0600));
        TRY_VOID(device_of(request.volume_id));
    } else {
        TRY_VOID(files_->create_directories(folder_of(request.volume_id), 0777));
        if (request.volume_capability->mount && files_->exists(image)) {
            TRY_VOID(mount_once(request.staging_target_path, [&]() -> Result<void> {
                TRY(const std::string device, device_of(request.volume_id));
                return mount_ext4(device, request.staging_target_path, request.volume_capability->mount->mount_flags);
            }));
        } else {
            TRY_VOID(show(folder_of(request.volume_id), request.staging_target_path, false));
        }
    }
    staged_[request.volume_id].insert(request.staging_target_path);
    return csi::NodeStageVolumeResponse();
}

Result<csi::NodeUnstageVolumeResponse> CsiDriver::unstage(const csi::NodeUnstageVolumeRequest& request) {
    if (request.volume_id.empty() || request.staging_target_path.empty()) return refuse(GrpcStatus::InvalidArgument, "a field is missing");
    if (!published_[request.volume_id].empty()) return refuse(GrpcStatus::FailedPrecondition, "the volume is still published");
    if (options_.mounts) TRY_VOID(unmount(request.staging_target_path));
    staged_[request.volume_id].erase(request.staging_target_path);
    if (const auto found = devices_.find(request.volume_id); found != devices_.end()) {
        const int device = ::open(found->second.c_str(), O_RDWR | O_CLOEXEC);
        if (device >= 0) {
            (void)::ioctl(device, LOOP_CLR_FD, 0);
            ::close(device);
        }
        devices_.erase(found);
    }
    return csi::NodeUnstageVolumeResponse();
}

Result<csi::NodePublishVolumeResponse> CsiDriver::publish(const csi::NodePublishVolumeRequest& request) {
    if (request.volume_id.empty() || request.target_path.empty() || !request.volume_capability)
        return refuse(GrpcStatus::InvalidArgument, "a field is missing");
    if (!files_->exists(parent_path(request.target_path))) return refuse(GrpcStatus::Internal, "the target's folder is not there");
    const auto ephemeral = request.volume_context.find("csi.storage.k8s.io/ephemeral");
    const bool is_ephemeral = ephemeral != request.volume_context.end() && ephemeral->second == "true";
    const bool needs_stage = has(Capability::StageUnstageVolume) && !is_ephemeral;
    if (needs_stage && !staged_[request.volume_id].contains(request.staging_target_path))
        return refuse(GrpcStatus::FailedPrecondition, "the volume is not staged at \"" + request.staging_target_path + "\"");
    std::set<std::string>& targets = published_[request.volume_id];
    if (!targets.empty() && !targets.contains(request.target_path) && single_writer_.contains(request.volume_id))
        return refuse(GrpcStatus::FailedPrecondition, "the volume is published to its only writer");
    if (request.volume_capability->block) {
        TRY(const std::string device, device_of(request.volume_id));
        if (!targets.contains(request.target_path)) TRY_VOID(files_->write(request.target_path, "", 0600));
        TRY_VOID(show(device, request.target_path, false));
    } else {
        const std::string folder = folder_of(request.volume_id);
        TRY_VOID(files_->create_directories(folder, 0777));
        TRY_VOID(files_->change_mode(folder, 0777));
        if (is_ephemeral) {
            ephemeral_.insert(request.volume_id);
            TRY_VOID(files_->write(folder + "/context", schema::encode_json(request), 0644));
        }
        if (is_not_found(files_->link_status(request.target_path))) TRY_VOID(files_->create_directories(request.target_path, 0750));
        TRY_VOID(show(needs_stage ? request.staging_target_path : folder, request.target_path, request.readonly));
    }
    targets.insert(request.target_path);
    const auto& mode = request.volume_capability->access_mode;
    if (mode && mode->mode == csi::AccessModeMode::SingleNodeSingleWriter) single_writer_.insert(request.volume_id);
    return csi::NodePublishVolumeResponse();
}

Result<csi::NodeUnpublishVolumeResponse> CsiDriver::unpublish(const csi::NodeUnpublishVolumeRequest& request) {
    if (request.volume_id.empty() || request.target_path.empty()) return refuse(GrpcStatus::InvalidArgument, "a field is missing");
    if (options_.mounts) TRY_VOID(unmount(request.target_path));
    if (files_->exists(request.target_path)) TRY_VOID(files_->remove(request.target_path));
    published_[request.volume_id].erase(request.target_path);
    if (published_[request.volume_id].empty()) single_writer_.erase(request.volume_id);
    if (ephemeral_.erase(request.volume_id)) TRY_VOID(files_->remove_all(folder_of(request.volume_id)));
    return csi::NodeUnpublishVolumeResponse();
}

Result<csi::NodeExpandVolumeResponse> CsiDriver::expand(const csi::NodeExpandVolumeRequest& request) {
    if (!has(Capability::ExpandVolume)) return refuse(GrpcStatus::Unimplemented, "no expansion");
    if (request.volume_id.empty() || request.volume_path.empty()) return refuse(GrpcStatus::InvalidArgument, "a field is missing");
    if (!published_[request.volume_id].contains(request.volume_path))
        return refuse(GrpcStatus::NotFound, "the volume is not published there");
    csi::NodeExpandVolumeResponse response;
    response.capacity_bytes = sizes_[request.volume_id] = request.capacity_range ? request.capacity_range->required_bytes : FirstSize;
    return response;
}

Result<csi::NodeGetVolumeStatsResponse> CsiDriver::stats(const csi::NodeGetVolumeStatsRequest& request) {
    if (request.volume_id.empty() || request.volume_path.empty()) return refuse(GrpcStatus::InvalidArgument, "a field is missing");
    if (!published_[request.volume_id].contains(request.volume_path))
        return refuse(GrpcStatus::NotFound, "the volume is not published there");
    const std::int64_t size = sizes_.contains(request.volume_id) ? sizes_[request.volume_id] : FirstSize;
    const TreeUsage used = files_->tree_usage(folder_of(request.volume_id)).value_or(TreeUsage());
    csi::NodeGetVolumeStatsResponse response;
    csi::VolumeUsage& bytes = response.usage.emplace_back();
    bytes.unit = csi::VolumeUsageUnit::Bytes;
    bytes.total = size;
    bytes.used = static_cast<std::int64_t>(used.bytes);
    bytes.available = size - bytes.used;
    csi::VolumeUsage& inodes = response.usage.emplace_back();
    inodes.unit = csi::VolumeUsageUnit::Inodes;
    inodes.total = 1000;
    inodes.used = static_cast<std::int64_t>(used.inodes);
    inodes.available = inodes.total - inodes.used;
    if (has(Capability::VolumeCondition)) {
        csi::VolumeCondition& condition = response.volume_condition.emplace();
        condition.abnormal = is_abnormal;
        condition.message = is_abnormal ? "the disk makes noises" : "all is well";
    }
    return response;
}

}  // namespace porthole::testing
